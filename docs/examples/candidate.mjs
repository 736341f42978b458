#!/usr/bin/env node
// A candidate in JavaScript: it calls the first tool it is offered, and tells the user what the
// tool said. A real one would ask a model what to do next, and say what that used.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const hear = async () => {
  const { value, done } = await lines.next();
  if (done) process.exit(0);
  return JSON.parse(value);
};
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

const { tools } = await hear();
let said = "nothing: there is no tool";
if (tools.length > 0) {
  say({ type: "call", call_id: "call_1", tool: tools[0].name, arguments: {} });
  const [{ status, content }] = (await hear()).observations;
  said = `${status} ${JSON.stringify(content)}`;
}
say({ type: "final", message: `The tool said: ${said}` });
process.stdin.unref?.();
