# ruff: noqa: E501
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
        {"role": "assistant", "content": f'{{"name": "issue_refund", "parameters": {TEXT}}}'},
        {"role": "ipython", "content": "refunded"},
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

MORE: dict[str, Any] = {
    "ui approval": [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "x"}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                {
                    "type": "tool-issue_refund",
                    "toolCallId": "c1",
                    "state": "approval-requested",
                    "input": {"order": "o-7", "amount": 40},
                    "approval": {"id": "a1"},
                }
            ],
        },
    ],
    "ui denied": [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "x"}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                {
                    "type": "tool-issue_refund",
                    "toolCallId": "c1",
                    "state": "output-denied",
                    "input": {"order": "o-7", "amount": 40},
                    "approval": {"id": "a1", "approved": False, "reason": "no"},
                }
            ],
        },
    ],
    "ui v4 parts": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "id": "2",
            "role": "assistant",
            "content": "done",
            "parts": [
                {
                    "type": "tool-invocation",
                    "toolInvocation": {
                        "state": "result",
                        "step": 0,
                        "toolCallId": "c1",
                        "toolName": "issue_refund",
                        "args": {"order": "o-7", "amount": 40},
                        "result": "ok",
                    },
                },
                {"type": "text", "text": "done"},
            ],
            "toolInvocations": [
                {
                    "state": "result",
                    "step": 0,
                    "toolCallId": "c1",
                    "toolName": "issue_refund",
                    "args": {"order": "o-7", "amount": 40},
                    "result": "ok",
                }
            ],
        },
    ],
    "ui {messages} chat": {
        "id": "chat1",
        "messages": [
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "x"}]},
            {
                "id": "2",
                "role": "assistant",
                "parts": [
                    {"type": "reasoning", "text": "hm", "state": "done"},
                    {
                        "type": "tool-issue_refund",
                        "toolCallId": "c1",
                        "state": "output-available",
                        "input": {"order": "o-7", "amount": 40},
                        "output": {"ok": True},
                        "callProviderMetadata": {"openai": {"itemId": "fc"}},
                    },
                    {"type": "data-note", "data": {"x": 1}},
                    {"type": "file", "mediaType": "image/png", "url": "data:"},
                    {"type": "source-url", "sourceId": "s", "url": "u"},
                    {"type": "text", "text": "ok"},
                ],
            },
        ],
    },
    "vercel v4 model": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "x", "providerOptions": {}},
                {
                    "type": "tool-call",
                    "toolCallId": "c1",
                    "toolName": "issue_refund",
                    "args": {"order": "o-7", "amount": 40},
                },
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "issue_refund",
                    "result": {"error": 1},
                    "isError": True,
                }
            ],
        },
    ],
    "vercel denied": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool-call",
                    "toolCallId": "c1",
                    "toolName": "issue_refund",
                    "input": {"order": "o-7", "amount": 40},
                },
                {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-approval-response", "approvalId": "a1", "approved": False},
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "issue_refund",
                    "output": {"type": "execution-denied", "reason": "no"},
                },
            ],
        },
    ],
    "vercel generateText": {
        "text": "done",
        "finishReason": "stop",
        "totalUsage": {"inputTokens": 10, "outputTokens": 5, "cachedInputTokens": 2},
        "steps": [
            {
                "content": [
                    {"type": "text", "text": "x"},
                    {
                        "type": "tool-call",
                        "toolCallId": "c1",
                        "toolName": "issue_refund",
                        "input": {"order": "o-7", "amount": 40},
                    },
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "issue_refund",
                        "input": {"order": "o-7", "amount": 40},
                        "output": {"ok": 1},
                    },
                ],
                "finishReason": "tool-calls",
                "usage": {"inputTokens": 5, "outputTokens": 3},
                "request": {"body": "{}"},
                "response": {
                    "id": "r",
                    "messages": [
                        {
                            "role": "assistant",
                            "content": [
                                {
                                    "type": "tool-call",
                                    "toolCallId": "c1",
                                    "toolName": "issue_refund",
                                    "input": {"order": "o-7", "amount": 40},
                                }
                            ],
                        },
                        {
                            "role": "tool",
                            "content": [
                                {
                                    "type": "tool-result",
                                    "toolCallId": "c1",
                                    "toolName": "issue_refund",
                                    "output": {"type": "json", "value": {"ok": 1}},
                                }
                            ],
                        },
                    ],
                },
                "toolCalls": [
                    {
                        "type": "tool-call",
                        "toolCallId": "c1",
                        "toolName": "issue_refund",
                        "input": {"order": "o-7", "amount": 40},
                    }
                ],
                "toolResults": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "issue_refund",
                        "input": {"order": "o-7", "amount": 40},
                        "output": {"ok": 1},
                    }
                ],
            },
            {
                "content": [{"type": "text", "text": "done"}],
                "finishReason": "stop",
                "usage": {"inputTokens": 5, "outputTokens": 2},
            },
        ],
    },
    "converse request": {
        "modelId": "m",
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "ok"},
                    {
                        "toolUse": {
                            "toolUseId": "c1",
                            "name": "issue_refund",
                            "input": {"order": "o-7", "amount": 40},
                        }
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "c1",
                            "content": [{"json": {"a": 1}}],
                            "status": "error",
                        }
                    }
                ],
            },
        ],
        "system": [{"text": "You help."}],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "issue_refund", "inputSchema": {"json": {}}}}]
        },
    },
    "converse pair": [
        {
            "request": {
                "modelId": "m",
                "messages": [{"role": "user", "content": [{"text": "hi"}]}],
            },
            "response": {
                "output": {
                    "message": {
                        "role": "assistant",
                        "content": [
                            {"reasoningContent": {"reasoningText": {"text": "x"}}},
                            {
                                "toolUse": {
                                    "toolUseId": "c1",
                                    "name": "issue_refund",
                                    "input": {"order": "o-7", "amount": 40},
                                }
                            },
                        ],
                    }
                },
                "stopReason": "tool_use",
                "usage": {"inputTokens": 10, "outputTokens": 3, "totalTokens": 13},
            },
        }
    ],
    "gemini snake": {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {
                        "function_call": {
                            "name": "issue_refund",
                            "args": {"order": "o-7", "amount": 40},
                        },
                        "thought_signature": "abc",
                    },
                ],
            },
            {
                "role": "function",
                "parts": [
                    {"function_response": {"name": "issue_refund", "response": {"result": "x"}}}
                ],
            },
        ]
    },
    "gemini pair": [
        {
            "request": {
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "systemInstruction": {"parts": [{"text": "sys"}]},
                "tools": [{"functionDeclarations": [{"name": "issue_refund", "parameters": {}}]}],
            },
            "response": {
                "candidates": [
                    {
                        "content": {
                            "role": "model",
                            "parts": [
                                {
                                    "functionCall": {
                                        "id": "1",
                                        "name": "issue_refund",
                                        "args": {"order": "o-7", "amount": 40},
                                    }
                                }
                            ],
                        },
                        "finishReason": "STOP",
                        "index": 0,
                    }
                ],
                "usageMetadata": {
                    "promptTokenCount": 3,
                    "candidatesTokenCount": 2,
                    "totalTokenCount": 5,
                },
                "modelVersion": "g",
            },
        }
    ],
    "gemini history list": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "issue_refund", "args": {"order": "o-7", "amount": 40}}}
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "issue_refund", "response": {"error": "no"}}}],
        },
    ],
    "anthropic cache": {
        "model": "m",
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "My lamp came broken."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "text", "text": "ok", "citations": None},
                    {
                        "type": "tool_use",
                        "id": "c1",
                        "name": "issue_refund",
                        "input": {"order": "o-7", "amount": 40},
                        "cache_control": {"type": "ephemeral"},
                        "caller": {"type": "direct"},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [
                            {"type": "text", "text": "x"},
                            {"type": "image", "source": {"type": "base64", "data": "x"}},
                        ],
                        "cache_control": {"type": "ephemeral"},
                    },
                    {"type": "text", "text": "go on"},
                ],
            },
        ],
    },
    "anthropic response log": [
        {
            "request": {
                "model": "m",
                "max_tokens": 5,
                "messages": [{"role": "user", "content": "My lamp came broken."}],
                "tools": [
                    {"name": "issue_refund", "description": "d", "input_schema": {"type": "object"}}
                ],
            },
            "response": {
                "id": "m1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "c1",
                        "name": "issue_refund",
                        "input": {"order": "o-7", "amount": 40},
                    }
                ],
                "stop_reason": "tool_use",
                "usage": {
                    "input_tokens": 5,
                    "cache_read_input_tokens": 3,
                    "cache_creation_input_tokens": 2,
                    "output_tokens": 2,
                    "server_tool_use": {"web_search_requests": 0},
                },
            },
        },
        {
            "request": {
                "model": "m",
                "messages": [
                    {"role": "user", "content": "My lamp came broken."},
                    {
                        "role": "assistant",
                        "content": [
                            {
                                "type": "tool_use",
                                "id": "c1",
                                "name": "issue_refund",
                                "input": {"order": "o-7", "amount": 40},
                            }
                        ],
                    },
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}],
                    },
                ],
            },
            "response": {
                "id": "m2",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "text", "text": "done"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 5, "output_tokens": 2},
            },
        },
    ],
    "langchain chunks": [
        {"type": "human", "content": "x"},
        {
            "type": "AIMessageChunk",
            "id": "r1",
            "content": "",
            "tool_call_chunks": [
                {
                    "name": "issue_refund",
                    "args": "",
                    "id": "c1",
                    "index": 0,
                    "type": "tool_call_chunk",
                }
            ],
            "tool_calls": [{"name": "issue_refund", "args": {}, "id": "c1", "type": "tool_call"}],
        },
        {
            "type": "AIMessageChunk",
            "id": "r1",
            "content": "",
            "tool_call_chunks": [
                {
                    "name": None,
                    "args": '{"order": "o-7", "amount": 40}',
                    "id": None,
                    "index": 0,
                    "type": "tool_call_chunk",
                }
            ],
            "tool_calls": [],
            "invalid_tool_calls": [],
        },
    ],
    "langchain merged chunk": [
        {"type": "human", "content": "x"},
        {
            "type": "AIMessageChunk",
            "id": "r1",
            "content": "",
            "tool_call_chunks": [
                {
                    "name": "issue_refund",
                    "args": '{"order": "o-7", "amount": 40}',
                    "id": "c1",
                    "index": 0,
                    "type": "tool_call_chunk",
                }
            ],
            "tool_calls": [
                {
                    "name": "issue_refund",
                    "args": {"order": "o-7", "amount": 40},
                    "id": "c1",
                    "type": "tool_call",
                }
            ],
            "additional_kwargs": {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "c1",
                        "type": "function",
                        "function": {
                            "name": "issue_refund",
                            "arguments": '{"order": "o-7", "amount": 40}',
                        },
                    }
                ]
            },
            "chunk_position": "last",
        },
    ],
    "langchain legacy fc": [
        {"type": "human", "content": "x"},
        {
            "type": "ai",
            "content": "",
            "additional_kwargs": {
                "function_call": {
                    "name": "issue_refund",
                    "arguments": '{"order": "o-7", "amount": 40}',
                }
            },
            "tool_calls": [
                {
                    "name": "issue_refund",
                    "args": {"order": "o-7", "amount": 40},
                    "id": "c1",
                    "type": "tool_call",
                }
            ],
        },
    ],
    "langchain openai style": {
        "messages": [
            {"role": "user", "content": "x"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "name": "issue_refund",
                        "args": {"order": "o-7", "amount": 40},
                        "id": "c1",
                        "type": "tool_call",
                    }
                ],
            },
        ]
    },
    "lc dumpd": [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessageChunk"],
            "kwargs": {
                "content": "",
                "tool_calls": [
                    {
                        "name": "issue_refund",
                        "args": {"order": "o-7", "amount": 40},
                        "id": "c1",
                        "type": "tool_call",
                    }
                ],
                "type": "AIMessageChunk",
            },
        }
    ],
    "legacy in pair stream": [
        {
            "request": {"messages": [{"role": "user", "content": "My lamp came broken."}]},
            "response": {
                "choices": [
                    {
                        "message": {
                            "role": "assistant",
                            "content": None,
                            "function_call": {
                                "name": "issue_refund",
                                "arguments": '{"order": "o-7", "amount": 40}',
                            },
                        }
                    }
                ]
            },
        }
    ],
    "genai choice event": [
        {"role": "user", "parts": [{"type": "text", "content": "x"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "h"},
                {
                    "type": "tool_call",
                    "id": "c1",
                    "name": "issue_refund",
                    "arguments": {"order": "o-7", "amount": 40},
                },
            ],
            "finish_reason": "tool_call",
        },
    ],
    "responses mcp approve": [
        {"role": "user", "content": "x"},
        {
            "type": "mcp_list_tools",
            "id": "l",
            "server_label": "shop",
            "tools": [{"name": "issue_refund", "input_schema": {}}],
        },
        {
            "type": "mcp_approval_request",
            "id": "ar1",
            "server_label": "shop",
            "name": "issue_refund",
            "arguments": '{"order": "o-7", "amount": 40}',
        },
        {"type": "mcp_approval_response", "approval_request_id": "ar1", "approve": True},
        {
            "type": "mcp_call",
            "id": "mcp1",
            "approval_request_id": "ar1",
            "server_label": "shop",
            "name": "issue_refund",
            "arguments": '{"order": "o-7", "amount": 40}',
            "output": "ok",
            "status": "completed",
        },
    ],
    "glm": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": "<tool_call>issue_refund\n<arg_key>order</arg_key>\n<arg_value>o-7</arg_value>\n<arg_key>amount</arg_key>\n<arg_value>40</arg_value>\n</tool_call>",
        },
        {"role": "assistant", "content": "It is done."},
    ],
    "deepseek": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>issue_refund\n```json\n{"order": "o-7", "amount": 40}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        },
        {"role": "assistant", "content": "It is done."},
    ],
    "deepseek31": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>issue_refund<｜tool▁sep｜>{"order": "o-7", "amount": 40}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        },
        {"role": "assistant", "content": "It is done."},
    ],
    "old anthropic xml": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": "<function_calls>\n<invoke>\n<tool_name>issue_refund</tool_name>\n<parameters>\n<order>o-7</order>\n<amount>40</amount>\n</parameters>\n</invoke>\n</function_calls>",
        },
        {"role": "assistant", "content": "It is done."},
    ],
    "react numbered": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": 'Thought 1: x\nAction 1: issue_refund\nAction Input 1: {"order": "o-7", "amount": 40}\n',
        },
        {"role": "user", "content": "Observation 1: y"},
        {"role": "assistant", "content": "It is done."},
    ],
    "structured chat": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": '```json\n{"action": "issue_refund", "action_input": {"order": "o-7", "amount": 40}}\n```',
        },
        {"role": "tool", "content": "refunded"},
        {"role": "assistant", "content": "It is done."},
    ],
    "mistral v11": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": '[TOOL_CALLS]issue_refund[ARGS]{"order": "o-7", "amount": 40}',
        },
        {"role": "assistant", "content": "It is done."},
    ],
    "llama pythonic": [
        {"role": "user", "content": "My lamp came broken."},
        {"role": "assistant", "content": "[issue_refund(order='o-7', amount=40)]"},
        {"role": "tool", "content": "refunded"},
        {"role": "assistant", "content": "It is done."},
    ],
    "llama tag": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": '<|python_tag|>{"type":"function","name": "issue_refund", "parameters": {"order": "o-7", "amount": 40}}',
        },
        {"role": "assistant", "content": "It is done."},
    ],
    "granite": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": '<|tool_call|>[{"name": "issue_refund", "arguments": {"order": "o-7", "amount": 40}}]',
        },
        {"role": "assistant", "content": "It is done."},
    ],
    "mixed text (has calls)": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {
                        "name": "issue_refund",
                        "arguments": '{"order": "o-7", "amount": 40}',
                    },
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "refunded"},
        {"role": "assistant", "content": "It is done."},
        {"role": "assistant", "content": "I could write <tool_call> too"},
    ],
    "pair jsonstr resp": [
        {
            "request": {"messages": [{"role": "user", "content": "My lamp came broken."}]},
            "response": '{"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "issue_refund", "arguments": "{\\"order\\": \\"o-7\\", \\"amount\\": 40}"}}]}}]}',
        }
    ],
    "agentdojo fork": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "content": "x"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "function": "issue_refund",
                        "args": {"order": "o-7", "amount": 40},
                        "id": "c1",
                        "placeholder_args": None,
                    }
                ],
            },
            {
                "role": "tool",
                "content": [{"type": "text", "content": "x"}],
                "tool_call_id": "c1",
                "tool_call": {
                    "function": "issue_refund",
                    "args": {"order": "o-7", "amount": 40},
                    "id": "c1",
                    "placeholder_args": None,
                },
                "error": "ValueError",
            },
        ],
        "evaluation": {"x": 1},
        "final_answer": "x",
        "trace": [{"function": "issue_refund", "args": {"order": "o-7", "amount": 40}, "id": "c1"}],
        "suite_name": "banking",
        "user_task_id": "user_task_1",
    },
    "agentdojo old str": {
        "suite_name": "s",
        "user_task_id": "u",
        "messages": [
            {"role": "user", "content": "x"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": "issue_refund", "args": {"order": "o-7", "amount": 40}, "id": None}
                ],
            },
            {
                "role": "tool",
                "content": "ok",
                "tool_call": {
                    "function": "issue_refund",
                    "args": {"order": "o-7", "amount": 40},
                    "id": None,
                },
                "tool_call_id": None,
                "error": None,
            },
        ],
        "utility": True,
        "security": True,
    },
}
"""Other envelopes and dresses of the same one call."""

HIDDEN: dict[str, Any] = {
    "second choice": [
        {
            "request": {"messages": [{"role": "user", "content": "My lamp came broken."}]},
            "response": {
                "choices": [
                    {"message": {"role": "assistant", "content": "no"}},
                    {
                        "message": {
                            "role": "assistant",
                            "content": None,
                            "tool_calls": [
                                {
                                    "id": "c1",
                                    "type": "function",
                                    "function": {
                                        "name": "issue_refund",
                                        "arguments": '{"order": "o-7", "amount": 40}',
                                    },
                                }
                            ],
                        }
                    },
                ]
            },
        }
    ],
    "calls under user": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "user",
            "content": "x",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {
                        "name": "issue_refund",
                        "arguments": '{"order": "o-7", "amount": 40}',
                    },
                }
            ],
        },
        {"role": "assistant", "content": "done"},
    ],
    "tool_use under user": [
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_use",
                    "id": "c1",
                    "name": "issue_refund",
                    "input": {"order": "o-7", "amount": 40},
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
    ],
    "metadata": {
        "messages": [
            {"role": "user", "content": "My lamp came broken."},
            {"role": "assistant", "content": "done"},
        ],
        "metadata": {
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {
                        "name": "issue_refund",
                        "arguments": '{"order": "o-7", "amount": 40}',
                    },
                }
            ]
        },
    },
    "metadata text": {
        "messages": [
            {"role": "user", "content": "My lamp came broken."},
            {"role": "assistant", "content": "done"},
        ],
        "metadata": {
            "raw": '{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "issue_refund", "arguments": "{\\"order\\": \\"o-7\\", \\"amount\\": 40}"}}]}'
        },
    },
    "sibling": {
        "messages": [
            {"role": "user", "content": "My lamp came broken."},
            {"role": "assistant", "content": "done"},
        ],
        "history": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {
                            "name": "issue_refund",
                            "arguments": '{"order": "o-7", "amount": 40}',
                        },
                    }
                ],
            }
        ],
    },
    "sibling result": {
        "messages": [
            {"role": "user", "content": "My lamp came broken."},
            {"role": "assistant", "content": "done"},
        ],
        "history": [{"role": "tool", "tool_call_id": "c1", "content": "refunded"}],
    },
    "unknown block": [
        {"role": "user", "content": "My lamp came broken."},
        {"role": "assistant", "content": [{"type": "future_act", "payload": {"x": 1}}]},
    ],
    "unknown item": [
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "future_item", "foo": 1},
    ],
    "result without call nameless": [
        {"role": "user", "content": "My lamp came broken."},
        {"role": "tool", "tool_call_id": "zz", "content": "refunded"},
        {"role": "assistant", "content": "x"},
    ],
    "nameless": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"arguments": '{"order": "o-7", "amount": 40}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "refunded"},
        {"role": "assistant", "content": "It is done."},
    ],
    "list args": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "issue_refund", "arguments": "[1]"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "refunded"},
        {"role": "assistant", "content": "It is done."},
    ],
    "langchain invalid": [
        {"type": "human", "content": "x"},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [],
            "invalid_tool_calls": [
                {
                    "name": "issue_refund",
                    "args": "{bad",
                    "id": "c1",
                    "error": "x",
                    "type": "invalid_tool_call",
                }
            ],
        },
    ],
    "hermes broken": [
        {"role": "user", "content": "My lamp came broken."},
        {"role": "assistant", "content": '<tool_call>{"name": "issue_refund", </tool_call>'},
    ],
}
"""Records whose act no reader takes: each must say so."""

QUIET: dict[str, Any] = {
    "plain prose json": [
        {"role": "user", "content": "My lamp came broken."},
        {"role": "assistant", "content": '{"answer": 42, "name": "x"}'},
    ],
    "prose action": [
        {"role": "user", "content": "My lamp came broken."},
        {"role": "assistant", "content": "Action: call the customer tomorrow.\nThen wait."},
    ],
    "empty tool_calls": [
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [],
            "function_call": None,
            "refusal": None,
            "annotations": [],
            "audio": None,
            "reasoning_content": '{"tool": 1}',
        },
    ],
}
"""Records of words alone, which look a little like calls."""

MORE |= {
    "smolagents": chat(
        {
            "role": "assistant",
            "content": "Calling tools:\n[{'id': 'c1', 'type': 'function', 'function': "
            "{'name': 'issue_refund', 'arguments': {'order': 'o-7', 'amount': 40}}}]",
        }
    ),
    "cline mcp": chat(
        {
            "role": "assistant",
            "content": "<use_mcp_tool>\n<server_name>shop</server_name>\n<tool_name>issue_refund"
            f"</tool_name>\n<arguments>{TEXT}</arguments>\n</use_mcp_tool>",
        }
    ),
    "function_call tag": chat(
        {
            "role": "assistant",
            "content": f'<function_call>{{"name": "issue_refund", "arguments": {TEXT}}}'
            "</function_call>",
        }
    ),
}
DONE = {"role": "assistant", "content": "It is done."}
HIDDEN |= {
    "content of an unknown type": [ASK, {**DONE, "content": {"type": "act", "payload": 1}}],
    "a call in a thought": [ASK, {**DONE, "content": f"<think>{TAGGED}</think>It is done."}],
    "a shape and no result": [ASK, {**DONE, "content": '{"name": "a", "parameters": {"b": 1}}'}],
    "a result in a list beside": {
        "messages": [ASK, DONE],
        "tools": [{"tool": "issue_refund", "output": "refunded"}],
    },
    "two ways to give": [
        ASK,
        listed({"id": "c1", "function": {"name": "look", "arguments": "{}", "args": ARGS}}),
    ],
    "a call beside the content": [ASK, {**DONE, "tool_call": OPENAI}],
    "a result of another tool": chat(
        listed({"id": "c1", "function": {"name": "look", "arguments": "{}"}}),
        {**TOOL, "name": "issue_refund"},
    ),
    "blocks beside, of a kind that no reader knows": [
        ASK,
        {
            "role": "assistant",
            "pieces": [
                {"piece_type": "text", "text": "ok"},
                {"piece_type": "tool_call", "tool_name": "issue_refund", "tool_kwargs": ARGS},
            ],
        },
        DONE,
    ],
    "a list that no dialect has": [ASK, {**DONE, "done": [{"what": "issue_refund", "how": ARGS}]}],
    "an object that no dialect has": [ASK, {**DONE, "did": {"issue_refund": ARGS}}],
    "a function under a short name": [
        ASK,
        {**DONE, "extra": {"executed": [{"fn": "issue_refund", "kwargs": ARGS}]}},
    ],
    "kwargs of a tool in metadata": [
        ASK,
        {**DONE, "metadata": {"x": {"tool_name": "issue_refund", "tool_kwargs": ARGS}}},
    ],
    "code in a fence": [ASK, {**DONE, "content": "```tool_code\nissue_refund()\n```"}],
}

RESPONSE = said({"type": "tool_use", "id": "c1", "name": "issue_refund", "input": ARGS})
MORE["anthropic response kept"] = [
    ASK,
    {**RESPONSE, "id": "msg_1", "type": "message", "model": "m", "stop_reason": "tool_use"},
]


def cline(*calls: dict[str, Any]) -> dict[str, Any]:
    """A session of Cline 3 with one failed result."""
    result = {"type": "tool_result", "tool_use_id": "c1", "name": "issue_refund"}
    failed = {**result, "content": [{"query": "q", "result": "", "success": False}]}
    metrics = {"inputTokens": 1200, "outputTokens": 40, "cacheReadTokens": 1000}
    return {
        "sessionId": "s-1",
        "agent": "lead",
        "origin": {"source": "cli"},
        "messages": [
            ASK,
            {**said(*calls), "metrics": metrics, "modelInfo": {"id": "m"}},
            said(failed, role="user"),
        ],
    }
