"""Every dialect of calls, small: what was called and what came back is the same in each."""

from typing import Any

ASK = {"role": "user", "content": "My lamp came broken."}
ARGS = {"order": "o-7", "amount": 40}
TEXT = '{"order": "o-7", "amount": 40}'
CALL = ("issue_refund", ARGS)


def said(*content: Any, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def chat(call: dict[str, Any], answer: dict[str, Any] | None = None) -> list[Any]:
    done = {"role": "assistant", "content": "It is done."}
    return [ASK, call, *([answer] if answer else []), done]


def listed(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


OPENAI = {
    "id": "c1",
    "type": "function",
    "function": {"name": "issue_refund", "arguments": TEXT},
}
TAGGED = f'<tool_call>\n{{"name": "issue_refund", "arguments": {TEXT}}}\n</tool_call>'
TOOL = {"role": "tool", "tool_call_id": "c1", "content": "refunded"}
XML = "<parameter name='order'>o-7</parameter><parameter name='amount'>40</parameter>"

SAME: dict[str, Any] = {
    "openai function": chat(listed(OPENAI), TOOL),
    "openai pairs": [
        {
            "request": {"model": "m", "messages": [ASK]},
            "response": {"choices": [{"message": {"content": None, "tool_calls": [OPENAI]}}]},
        }
    ],
    "legacy function_call": chat(
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "issue_refund", "arguments": TEXT},
        },
        {"role": "function", "name": "issue_refund", "content": "refunded"},
    ),
    "responses": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "issue_refund",
            "arguments": TEXT,
        },
        {"type": "function_call_output", "call_id": "c1", "output": "refunded"},
    ],
    "responses mcp": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "shop",
            "name": "issue_refund",
            "arguments": TEXT,
            "output": "refunded",
            "error": None,
        },
    ],
    "anthropic tool_use": chat(
        said({"type": "tool_use", "id": "c1", "name": "issue_refund", "input": ARGS}),
        said({"type": "tool_result", "tool_use_id": "c1", "content": "refunded"}, role="user"),
    ),
    "anthropic mcp_tool_use": chat(
        said(
            {
                "type": "mcp_tool_use",
                "id": "c1",
                "name": "issue_refund",
                "server_name": "shop",
                "input": ARGS,
            },
            {"type": "mcp_tool_result", "tool_use_id": "c1", "is_error": False, "content": []},
        )
    ),
    "anthropic server_tool_use": chat(
        said(
            {"type": "server_tool_use", "id": "c1", "name": "issue_refund", "input": ARGS},
            {"type": "web_search_tool_result", "tool_use_id": "c1", "content": []},
        )
    ),
    "anthropic pairs": [
        {
            "request": {"model": "m", "messages": [ASK]},
            "response": {
                "type": "message",
                "role": "assistant",
                "stop_reason": "tool_use",
                "content": [
                    {"type": "tool_use", "id": "c1", "name": "issue_refund", "input": ARGS}
                ],
            },
        }
    ],
    "bedrock": chat(
        said({"toolUse": {"toolUseId": "c1", "name": "issue_refund", "input": ARGS}}),
        said(
            {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "ok"}]}},
            role="user",
        ),
    ),
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "My lamp came broken."}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "issue_refund", "args": ARGS}}],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "issue_refund", "response": {"result": "ok"}}}
                ],
            },
        ]
    },
    "vercel model": chat(
        said(
            {
                "type": "tool-call",
                "toolCallId": "c1",
                "toolName": "issue_refund",
                "input": ARGS,
            }
        ),
        said(
            {
                "type": "tool-result",
                "toolCallId": "c1",
                "toolName": "issue_refund",
                "output": {"type": "text", "value": "refunded"},
            },
            role="tool",
        ),
    ),
    "vercel steps": {
        "steps": [
            {
                "content": [
                    {
                        "type": "tool-call",
                        "toolCallId": "c1",
                        "toolName": "issue_refund",
                        "input": ARGS,
                    },
                    {
                        "type": "tool-error",
                        "toolCallId": "c1",
                        "toolName": "issue_refund",
                        "input": ARGS,
                        "error": "no",
                    },
                ],
                "finishReason": "tool-calls",
                "usage": {"inputTokens": 3, "outputTokens": 2},
            }
        ]
    },
    "vercel ui": [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "My lamp came broken."}]},
        {
            "id": "m2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {
                    "type": "tool-issue_refund",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": ARGS,
                    "output": "refunded",
                },
            ],
        },
    ],
    "vercel ui dynamic": [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "My lamp came broken."}]},
        {
            "id": "m2",
            "role": "assistant",
            "parts": [
                {
                    "type": "dynamic-tool",
                    "toolName": "issue_refund",
                    "toolCallId": "c1",
                    "state": "output-error",
                    "input": ARGS,
                    "errorText": "no",
                },
            ],
        },
    ],
    "vercel ui invocations": [
        ASK,
        {
            "id": "m2",
            "role": "assistant",
            "content": "",
            "toolInvocations": [
                {
                    "state": "result",
                    "toolCallId": "c1",
                    "toolName": "issue_refund",
                    "args": ARGS,
                    "result": "refunded",
                }
            ],
        },
    ],
    "langchain dict": [
        {"type": "human", "data": {"content": "My lamp came broken."}},
        {
            "type": "ai",
            "data": {
                "content": "",
                "tool_calls": [
                    {"name": "issue_refund", "args": ARGS, "id": "c1", "type": "tool_call"}
                ],
            },
        },
        {"type": "tool", "data": {"content": "ok", "tool_call_id": "c1", "status": "success"}},
    ],
    "langchain kwargs": [
        {"type": "human", "content": "My lamp came broken."},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [],
            "additional_kwargs": {"tool_calls": [OPENAI]},
        },
    ],
    "langchain blocks": [
        {"type": "human", "content": "My lamp came broken."},
        {
            "type": "ai",
            "content": [
                {"type": "text", "text": "I refund it."},
                {"type": "tool_use", "id": "c1", "name": "issue_refund", "input": ARGS},
            ],
            "tool_calls": [{"name": "issue_refund", "args": ARGS, "id": "c1", "type": "tool_call"}],
        },
    ],
    "genai parts": [
        {"role": "user", "parts": [{"type": "text", "content": "My lamp came broken."}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "issue_refund", "arguments": ARGS}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c1", "response": "refunded"}],
        },
    ],
    "agentdojo": {
        "suite_name": "shop",
        "pipeline_name": "m",
        "user_task_id": "user_task_1",
        "messages": chat(
            listed({"function": "issue_refund", "args": ARGS, "id": "c1"}),
            {**TOOL, "tool_call": {"function": "issue_refund", "args": ARGS, "id": "c1"}},
        ),
    },
    "pi": chat(
        said({"type": "toolCall", "id": "c1", "name": "issue_refund", "arguments": ARGS}),
        {"role": "toolResult", "toolCallId": "c1", "content": "refunded", "isError": False},
    ),
    "parallel": chat(
        listed(
            {
                "id": "c1",
                "type": "function",
                "function": {
                    "name": "multi_tool_use.parallel",
                    "arguments": '{"tool_uses": [{"recipient_name": "functions.issue_refund",'
                    f' "parameters": {TEXT}}}]}}',
                },
            }
        ),
        TOOL,
    ),
    "hermes": chat(
        {
            "role": "assistant",
            "content": TAGGED,
        },
        {"role": "tool", "content": "<tool_response>\nrefunded\n</tool_response>"},
    ),
    "hermes sharegpt": {
        "conversations": [
            {"from": "human", "value": "My lamp came broken."},
            {
                "from": "gpt",
                "value": f'<tool_call>\n{{"name": "issue_refund", "arguments": {TEXT}}}'
                "\n</tool_call>",
            },
            {"from": "tool", "value": "<tool_response>\nrefunded\n</tool_response>"},
        ]
    },
    "qwen coder": chat(
        {
            "role": "assistant",
            "content": "<tool_call>\n<function=issue_refund>\n<parameter=order>\no-7\n</parameter>"
            "\n<parameter=amount>\n40\n</parameter>\n</function>\n</tool_call>",
        }
    ),
    "function tag": chat(
        {"role": "assistant", "content": f"<function=issue_refund>{TEXT}</function>"}
    ),
    "invoke": chat(
        {
            "role": "assistant",
            "content": "I refund it.\n<function_calls>\n"
            f"<invoke name='issue_refund'>{XML}</invoke>\n</function_calls>",
        }
    ),
    "react": chat(
        {
            "role": "assistant",
            "content": f"Thought: refund\nAction: issue_refund\nAction Input: {TEXT}",
        },
        {"role": "user", "content": "Observation: refunded"},
    ),
    "mistral": chat(
        {
            "role": "assistant",
            "content": f'[TOOL_CALLS] [{{"name": "issue_refund", "arguments": {TEXT}}}]',
        }
    ),
    "bare json": chat(
        {"role": "assistant", "content": f'{{"name": "issue_refund", "parameters": {TEXT}}}'}
    ),
    "kimi": chat(
        {
            "role": "assistant",
            "content": "<|tool_calls_section_begin|><|tool_call_begin|>functions.issue_refund:0"
            f"<|tool_call_argument_begin|>{TEXT}<|tool_call_end|><|tool_calls_section_end|>",
        }
    ),
    "harmony": chat(
        {
            "role": "assistant",
            "content": "<|channel|>commentary to=functions.issue_refund <|constrain|>json"
            f"<|message|>{TEXT}<|call|>",
        }
    ),
}
"""Records in which the agent calls `issue_refund` once, with the same arguments."""

OTHERS: dict[str, tuple[list[Any], tuple[str, Any]]] = {
    "custom": (
        chat(listed({"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls"}})),
        ("run", {"input": "ls"}),
    ),
    "responses custom": (
        [{"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "ls"}],
        ("run", {"input": "ls"}),
    ),
    "shell": (
        [{"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}],
        ("shell", {"commands": ["ls"]}),
    ),
    "local shell": (
        [{"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}}],
        ("local_shell", {"command": ["ls"]}),
    ),
    "apply patch": (
        [{"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}}],
        ("apply_patch", {"type": "delete_file"}),
    ),
    "computer": (
        [{"type": "computer_call", "call_id": "c1", "action": {"type": "click", "x": 1}}],
        ("computer", {"type": "click", "x": 1}),
    ),
    "web search": (
        [{"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "q"}}],
        ("web_search", {"type": "search", "query": "q"}),
    ),
    "file search": (
        [{"type": "file_search_call", "id": "fs_1", "queries": ["q"], "results": None}],
        ("file_search", {"queries": ["q"]}),
    ),
    "image": (
        [{"type": "image_generation_call", "id": "ig_1", "result": "aGk="}],
        ("image_generation", {}),
    ),
    "code interpreter": (
        [{"type": "code_interpreter_call", "id": "ci_1", "code": "1 + 1", "outputs": []}],
        ("code_interpreter", {"code": "1 + 1"}),
    ),
    "mcp approval": (
        [
            {
                "type": "mcp_approval_request",
                "id": "ar_1",
                "server_label": "shop",
                "name": "issue_refund",
                "arguments": TEXT,
            }
        ],
        CALL,
    ),
    "gemini code": (
        [
            {
                "role": "model",
                "parts": [{"executableCode": {"language": "PYTHON", "code": "1 + 1"}}],
            },
            {
                "role": "model",
                "parts": [{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}],
            },
        ],
        ("code_execution", {"language": "PYTHON", "code": "1 + 1"}),
    ),
    "empty arguments": (
        chat(listed({"id": "c1", "function": {"name": "ping", "arguments": ""}})),
        ("ping", {}),
    ),
}
"""Other kinds of calls: (record, what was called)."""
