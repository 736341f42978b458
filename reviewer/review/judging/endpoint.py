"""Where a judge is reached: an OpenAI-compatible endpoint, as a person names it."""

from typing import NamedTuple

from reviewer.running.candidates.openai_manifest import Places, Settings, read_base_url, read_key
from reviewer.running.candidates.prices import Prices
from reviewer.running.model import Unrunnable
from reviewer.suite.rubric import JudgePrompt

TIMEOUT_S = 120.0


class Address(NamedTuple):
    """How the endpoint is reached. `api_key_env` names the environment variable with its key, ""
    for one that asks for none; prices are US dollars per million tokens."""

    base_url: str
    model: str = ""
    api_key_env: str = ""
    timeout_s: float = TIMEOUT_S
    prices: Prices = Prices()


def judge_settings(judge: JudgePrompt, address: Address) -> Settings:
    """The endpoint ready to be asked. `model` falls back to that of judge.json. Raises Unrunnable
    with the way out: no address, no model, another model than judge.json fixes, no key."""
    model = address.model or judge.model
    if not model:
        raise Unrunnable("--model: is missing: judge.json names none, so say which is asked")
    if judge.model and model != judge.model:
        raise Unrunnable(
            f"--model {model}: judge.json fixes `{judge.model}`: leave --model out, or freeze a "
            "suite whose judge.json names the other"
        )
    url = read_base_url(address.base_url, "--base-url")
    return Settings(
        places=Places("--base-url", "--api-key-env", "--model"),
        url=url.geturl().rstrip("/"),
        host=url.netloc,
        model=model,
        key=read_key(address.api_key_env or None, "--api-key-env"),
        config={"temperature": judge.temperature, "max_tokens": judge.max_tokens},
        prompts=(),
        prices=address.prices,
        timeout_s=address.timeout_s,
        apart_s=0.0,
    )
