# SPDX-License-Identifier: Apache-2.0
"""The real `openai` package against a running cluster."""

import json
import subprocess
import unittest
import urllib.request

import openai

from serving import MODEL_NAME, SHOAL, Cluster

MESSAGES = [{"role": "user", "content": "Say something."}]


class OpenAiClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.client = openai.OpenAI(base_url=cls.cluster.http + "/v1", api_key="unused",
                                   max_retries=0, timeout=60)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code = cls.cluster.stop()
        assert code == 0, f"the cluster ended with {code}: a request or a block was lost"

    def chat(self, **options):
        options = {"temperature": 0, "max_tokens": 12, **options}
        return self.client.chat.completions.create(model=MODEL_NAME, messages=MESSAGES, **options)

    def test_lists_the_model(self):
        models = list(self.client.models.list())
        self.assertEqual([m.id for m in models], [MODEL_NAME])
        self.assertEqual(self.client.models.retrieve(MODEL_NAME).id, MODEL_NAME)

    def test_unary_chat_has_usage_and_a_finish_reason(self):
        answer = self.chat()
        self.assertEqual(answer.object, "chat.completion")
        self.assertTrue(answer.id.startswith("chatcmpl-"))
        self.assertIn(answer.choices[0].finish_reason, ("length", "stop"))
        self.assertEqual(answer.choices[0].message.role, "assistant")
        self.assertGreater(answer.usage.prompt_tokens, 0)
        self.assertLessEqual(answer.usage.completion_tokens, 12)
        self.assertEqual(answer.usage.total_tokens,
                         answer.usage.prompt_tokens + answer.usage.completion_tokens)

    def test_stream_equals_unary(self):
        for seed in range(3):
            unary = self.chat(temperature=1, seed=seed, max_tokens=32)
            text, reasons, usage, ids = "", [], None, set()
            stream = self.chat(temperature=1, seed=seed, max_tokens=32, stream=True,
                               stream_options={"include_usage": True})
            for index, chunk in enumerate(stream):
                self.assertEqual(chunk.object, "chat.completion.chunk")
                ids.add(chunk.id)
                if index == 0:
                    self.assertEqual(chunk.choices[0].delta.role, "assistant")
                if chunk.usage is not None:
                    self.assertEqual(chunk.choices, [])
                    usage = chunk.usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    if choice.finish_reason:
                        reasons.append(choice.finish_reason)
            self.assertEqual(len(ids), 1)
            self.assertEqual(text, unary.choices[0].message.content)
            self.assertEqual(reasons, [unary.choices[0].finish_reason])
            self.assertEqual(usage.completion_tokens, unary.usage.completion_tokens)
            self.assertEqual(usage.prompt_tokens, unary.usage.prompt_tokens)

    def test_no_usage_chunk_without_include_usage(self):
        for chunk in self.chat(stream=True):
            self.assertIsNone(chunk.usage)
            self.assertEqual(len(chunk.choices), 1)

    def test_the_stream_helper_accumulates(self):
        with self.client.chat.completions.stream(model=MODEL_NAME, messages=MESSAGES,
                                                 temperature=0, max_tokens=8) as stream:
            stream.until_done()
            final = stream.current_completion_snapshot
        self.assertEqual(final.choices[0].message.content, self.chat(max_tokens=8)
                         .choices[0].message.content)

    def test_two_choices_differ_and_repeat(self):
        first = self.chat(n=2, temperature=1.2, seed=5, max_tokens=24)
        again = self.chat(n=2, temperature=1.2, seed=5, max_tokens=24)
        texts = [choice.message.content for choice in first.choices]
        self.assertEqual([choice.index for choice in first.choices], [0, 1])
        self.assertNotEqual(texts[0], texts[1])
        self.assertEqual(texts, [choice.message.content for choice in again.choices])
        streamed = ["", ""]
        for chunk in self.chat(n=2, temperature=1.2, seed=5, max_tokens=24, stream=True):
            for choice in chunk.choices:
                streamed[choice.index] += choice.delta.content or ""
        self.assertEqual(streamed, texts)

    def test_stop_strings_cut_the_text(self):
        whole = self.chat(max_tokens=40).choices[0].message.content
        self.assertGreater(len(whole), 4)
        stop = whole[3:5]
        cut = whole[:whole.index(stop)]
        answer = self.chat(max_tokens=40, stop=[stop])
        self.assertEqual(answer.choices[0].message.content, cut)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        streamed = "".join(choice.delta.content or ""
                           for chunk in self.chat(max_tokens=40, stop=[stop], stream=True)
                           for choice in chunk.choices)
        self.assertEqual(streamed, cut)

    def test_logprobs_come_for_every_token(self):
        answer = self.chat(logprobs=True, top_logprobs=3)
        content = answer.choices[0].logprobs.content
        self.assertEqual(len(content), answer.usage.completion_tokens)
        for entry in content:
            self.assertLessEqual(entry.logprob, 0)
            self.assertEqual(len(entry.top_logprobs), 3)
            self.assertEqual(entry.top_logprobs[0].token, entry.token)  # greedy
        bare = self.chat(logprobs=True)
        self.assertEqual(bare.choices[0].logprobs.content[0].top_logprobs, [])

    def test_completions_take_text_ids_and_lists(self):
        text = self.client.completions.create(model=MODEL_NAME, prompt="abc def", temperature=0,
                                              max_tokens=6)
        self.assertEqual(text.object, "text_completion")
        many = self.client.completions.create(model=MODEL_NAME, prompt=["abc def", "xyz"],
                                              temperature=0, max_tokens=6)
        self.assertEqual([choice.index for choice in many.choices], [0, 1])
        self.assertEqual(many.choices[0].text, text.choices[0].text)
        ids = self.client.completions.create(model=MODEL_NAME, prompt=[20, 21, 22], temperature=0,
                                             max_tokens=6)
        self.assertEqual(ids.usage.prompt_tokens, 3)

    def test_echo_scores_the_prompt(self):
        answers = [self.client.completions.create(model=MODEL_NAME, prompt="abc def ghi", echo=True,
                                                  logprobs=2, max_tokens=0) for _ in range(2)]
        logprobs = answers[0].choices[0].logprobs
        self.assertEqual(answers[0].choices[0].text, "abc def ghi")
        self.assertEqual(answers[0].usage.completion_tokens, 0)
        self.assertEqual(answers[0].choices[0].finish_reason, "length")
        self.assertIsNone(logprobs.token_logprobs[0])
        self.assertTrue(all(value <= 0 for value in logprobs.token_logprobs[1:]))
        self.assertEqual("".join(logprobs.tokens), "abc def ghi")
        self.assertEqual(logprobs.token_logprobs, answers[1].choices[0].logprobs.token_logprobs)

    def test_errors_have_the_openai_shape(self):
        with self.assertRaises(openai.NotFoundError) as raised:
            self.client.chat.completions.create(model="other", messages=MESSAGES)
        self.assertEqual(raised.exception.code, "model_not_found")
        for options, param in (({"temperature": 3}, "temperature"), ({"top_p": 0}, "top_p"),
                               ({"n": 0}, "n"), ({"stop": [""]}, "stop"),
                               ({"top_logprobs": 1000000, "logprobs": True}, "top_logprobs"),
                               ({"logit_bias": {"5": 101}}, "logit_bias"),
                               ({"presence_penalty": 3}, "presence_penalty"),
                               ({"max_tokens": -1}, "max_tokens")):
            with self.subTest(param=param):
                with self.assertRaises(openai.BadRequestError) as raised:
                    self.chat(**options)
                self.assertEqual(raised.exception.param, param)
                self.assertTrue(raised.exception.request_id)
        with self.assertRaises(openai.BadRequestError) as raised:
            self.client.completions.create(model=MODEL_NAME, prompt=[20] * 4000, max_tokens=1)
        self.assertEqual(raised.exception.code, "context_length_exceeded")

    def test_a_bias_forces_and_forbids_tokens(self):
        options = {"prompt": "abc", "max_tokens": 6, "temperature": 0, "logprobs": 0}
        plain = self.client.completions.create(model=MODEL_NAME, **options).choices[0]
        forced = self.client.completions.create(
            model=MODEL_NAME, logit_bias={"40": 100}, **options).choices[0]
        self.assertEqual(len(set(forced.logprobs.tokens)), 1)
        self.assertNotEqual(forced.text, plain.text)

    def test_penalties_forbid_repetition(self):
        options = {"prompt": "abc", "max_tokens": 40, "temperature": 0, "logprobs": 0,
                   "logit_bias": {"40": 3}}
        free = self.client.completions.create(model=MODEL_NAME, **options).choices[0]
        bound = self.client.completions.create(
            model=MODEL_NAME, frequency_penalty=2, presence_penalty=2,
            extra_body={"repetition_penalty": 3}, **options).choices[0]
        self.assertGreater(len(set(bound.logprobs.tokens)), len(set(free.logprobs.tokens)))

    def test_min_tokens_puts_off_the_end(self):
        end = {"extra_body": {"stop_token_ids": [40]}, "logit_bias": {"40": 100}}
        options = {"prompt": "abc", "max_tokens": 9, "temperature": 0}
        at_once = self.client.completions.create(model=MODEL_NAME, **options, **end)
        self.assertEqual(at_once.usage.completion_tokens, 1)
        end["extra_body"]["min_tokens"] = 5
        later = self.client.completions.create(model=MODEL_NAME, **options, **end)
        self.assertEqual(later.usage.completion_tokens, 6)
        self.assertEqual(later.choices[0].finish_reason, "stop")

    def test_a_salt_separates_cached_prefixes(self):
        def cached(salt):
            answer = self.client.completions.create(
                model=MODEL_NAME, prompt=list(range(20, 120)), max_tokens=1,
                extra_body={"cache_salt": salt} if salt else {})
            return answer.usage.prompt_tokens_details.cached_tokens
        for _ in range(2):  # one for each replica
            cached("a")
        self.assertEqual(cached("b"), 0)

    def test_too_large_a_body_is_413(self):
        with self.assertRaises(openai.APIStatusError) as raised:
            self.client.completions.create(model=MODEL_NAME, prompt="x" * (2 << 20))
        self.assertEqual(raised.exception.status_code, 413)

    def test_a_closed_stream_frees_the_sequence(self):
        for _ in range(5):
            stream = self.chat(max_tokens=1500, stream=True, temperature=1)
            next(iter(stream))
            stream.close()
        self.assertIn(self.chat().choices[0].finish_reason, ("length", "stop"))

    def test_the_bench_command_measures_the_server(self):
        arguments = [SHOAL, "bench", "--url", self.cluster.http, "--json", "--requests", "12",
                     "--warmup", "2", "--prompt-tokens", "20:60", "--output-tokens", "8",
                     "--token-range", "16:200", "--shared-prefix", "16"]
        for mode in (["--concurrency", "4"], ["--rate", "200"]):
            done = subprocess.run(arguments + mode, capture_output=True, text=True, timeout=60,
                                  check=True)
            report = json.loads(done.stdout)
            self.assertEqual((report["requests"], report["failed"]), (10, 0))
            self.assertEqual(report["completion_tokens"], 80)
            self.assertTrue(200 <= report["prompt_tokens"] <= 600)
            self.assertGreater(report["ttft"]["p50_ms"], 0)
            self.assertGreaterEqual(report["e2e"]["p50_ms"], report["ttft"]["p50_ms"])
        wrong = subprocess.run(arguments + ["--model", "other"], capture_output=True, text=True,
                               timeout=60, check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("other", wrong.stderr)

    def test_side_endpoints(self):
        def get(path):
            with urllib.request.urlopen(self.cluster.http + path, timeout=30) as response:
                return response.read().decode()
        get("/health")
        self.assertIn("numerics", json.loads(get("/version"))["version"])
        metrics = get("/metrics")
        for name in ("vllm:num_requests_running", "vllm:time_to_first_token_seconds_bucket"):
            self.assertIn(name, metrics)


if __name__ == "__main__":
    unittest.main()
