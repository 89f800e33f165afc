#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/text/families.json: what jinja2, set up as transformers does, renders from the
templates in tests/golden/text/families and the conversations here. Needs the package jinja2."""

import json
import pathlib

from template_environment import continued, environment, normalized

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "text"

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather \"now\" in <b>a city</b> & more",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": " The city "},
        "days": {"type": "integer", "default": 1.5}},
        "required": ["city"]}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Searches — naïvely",
    "parameters": {"type": "object", "properties": {
        "query": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"lang": {"type": "string", "enum": ["de", "ko"]}}},
        "options": {"type": "object", "additionalProperties": {"type": "number"}}}}}}


def user(content="Capital of France?"):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def call(name, arguments, ident="call00001"):
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content, ident="call00001"):
    return {"role": "tool", "tool_call_id": ident, "name": "get_weather", "content": content}


BERN = call("get_weather", "{\"city\": \"Zürich\", \"days\": 2}")
DEEP = call("search", "{\"query\": null, \"tags\": [], \"f\": [1, 2.5, 1e-7, true, {\"a\": {}}]}",
            "call00002")
CONVERSATIONS = {
    "one user": {"messages": [user()]},
    "system": {"messages": [{"role": "system", "content": "  Be brief.\n"}, user()]},
    "turns": {"messages": [user(), assistant(" Paris. "), user("And of 대한민국? 🙂\n\n")]},
    "empty content": {"messages": [user(""), assistant(""), user(" ")]},
    "white space": {"messages": [user("\t a\r\n\r\n b  \n"), assistant("\n\n\nx\n"), user("\u3000y\u00a0")]},
    "no messages": {"messages": []},
    "system alone": {"messages": [{"role": "system", "content": "Only me."}]},
    "two users": {"messages": [user("a"), user("b")]},
    "unknown role": {"messages": [user(), {"role": "critic", "content": "no"}]},
    "late system": {"messages": [user(), assistant("x"), {"role": "system", "content": "late"}, user("y")]},
    "tools offered": {"messages": [user()], "tools": [WEATHER, SEARCH]},
    "tools and system": {"messages": [{"role": "system", "content": "Sys /no_think"}, user("Hot?")],
                         "tools": [SEARCH]},
    "one call": {"messages": [user(), assistant("", tool_calls=[BERN]), result("{\"sky\": \"clear\"}")],
                 "tools": [WEATHER]},
    "two calls": {"messages": [user(), assistant("Let me see.", tool_calls=[BERN, DEEP]),
                               result("21 °C"), result("[]", "call00002"), assistant("Warm."), user("Ok")]},
    "bad call id": {"messages": [user(), assistant("", tool_calls=[call("f", "{}", "1")]), result("x", "1")]},
    "thinking inside": {"messages": [user(), assistant("<think>\nhm\n</think>\n\nPar</think>is"), user("Sure?")]},
    "reasoning": {"messages": [user(), assistant("Paris", reasoning_content="Easy.\n")]},
    "control text": {"messages": [user("<|im_end|>\n<|im_start|>system\nx<｜end｜>[/INST]<end_of_turn>"),
                                  assistant("</tool_call>{{ 7*7 }}{% raw %}")]},
    "parts": {"messages": [user([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}])]},
    "documents": {"messages": [user()], "documents": [
        {"doc_id": 7, "title": "T", "text": "Paris is\n\"big\""}, {"title": "U", "text": "ü"}]},
    "switches": {"messages": [user("Count to 3")], "enable_thinking": False, "use_default": True,
                 "reasoning_effort": "high", "controls": {"length": "short", "citations": True},
                 "builtin_tools": ["code_interpreter", "get_weather"], "tools_in_user_message": False},
    "html and quotes": {"messages": [user("<a href='x'>\"&amp;\"</a> \\n \\ /"), assistant("'it''s'"), user("%s {}")]},
    "many": {"messages": [user("1"), assistant("2"), user("3"), assistant("4"), user("5"), assistant("6")]},
    "marks": {"messages": [user("e\u0301 👨‍👩‍👧 ไทย हिन्दी"), assistant("ΑΒΓ ß"), user("ǆ İ")]},
}
# Final messages to continue; none of them is rendered by every template.
CONTINUED = {
    "plain": [user(), assistant("Sure: ")],
    "trailing lines": [user(), assistant("Sure: \n")],
    "repeated": [user("Sure"), assistant("Sure")],
    "parts": [user(), assistant([{"type": "text", "text": "One"}])],
}


def variables(conversation, source):
    out = {"tools": None, "documents": None, "bos_token": "<|im_start|>", "eos_token": "<|im_end|>",
           **conversation}
    out["messages"] = normalized(conversation["messages"], source)
    return out


def render_all():
    cases, continues = [], []
    for path in sorted((OUT / "families").glob("*.jinja")):
        source = path.read_text()
        template = environment().from_string(source)
        for at, (name, conversation) in enumerate(CONVERSATIONS.items()):
            case = {"template": path.stem, "conversation": name, "prompt": at % 3 != 2}
            try:
                case["text"] = template.render(
                    add_generation_prompt=case["prompt"], **variables(conversation, source))
            except Exception as error:  # what refuses here must refuse there
                case["error"] = str(error)
            cases.append(case)
        for name, messages in CONTINUED.items():
            given = variables({"messages": messages}, source)
            case = {"template": path.stem, "conversation": name}
            try:
                case["text"] = continued(template, **given)
            except Exception as error:
                case["error"] = str(error)
            continues.append(case)
    return {"conversations": CONVERSATIONS, "continued": CONTINUED, "cases": cases,
            "continues": continues}


if __name__ == "__main__":
    (OUT / "families.json").write_text(
        json.dumps(render_all(), ensure_ascii=False, separators=(",", ":")) + "\n")
