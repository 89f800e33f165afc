# SPDX-License-Identifier: Apache-2.0
"""The Jinja environment in which transformers renders chat templates, for making goldens."""

import copy
import datetime
import json
import re

import jinja2
import jinja2.sandbox
from jinja2.ext import Extension, loopcontrols

NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)
CONTINUE = "CONTINUE_FINAL_MESSAGE_TAG "


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def normalized(messages, source):
    """What a server does before templating: arguments parsed, parts joined unless the template
    goes through them, reasoning under every name it has."""
    takes_parts = re.search(r"for \w+ in (\w+)?(\.content|\['content'\]|content\b)", source)
    messages = copy.deepcopy(messages)
    for message in messages:
        for call in message.get("tool_calls", []):
            if isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        if not takes_parts and isinstance(message["content"], list):
            message["content"] = "\n".join(part["text"] for part in message["content"])
        names = ("reasoning_content", "thinking", "reasoning")
        reasoning = next((message[n] for n in names if message.get(n) is not None), None)
        if reasoning is not None:
            message.setdefault("thinking", reasoning)
            message["reasoning_content"] = reasoning
    return messages


def continued(template, messages, **variables):
    """transformers' continue_final_message."""
    messages = copy.deepcopy(messages)
    content = messages[-1]["content"]
    if isinstance(content, list):
        content[-1]["text"] += CONTINUE
    else:
        messages[-1]["content"] += CONTINUE
    text = template.render(messages=messages, add_generation_prompt=False, **variables)
    at = text.rindex(CONTINUE.strip())
    return text[:at] if text[at:].startswith(CONTINUE) else text[:at].rstrip()
