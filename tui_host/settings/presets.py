"""Built-in providers. To use one, a user only sets its key in the environment."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.settings.schema import DEMO, DIALECTS, Provider, Template
from tui_host.settings.urls import parts_of

# The name, the label, the base URL, the variable that holds the key, and a model to start with if one is obvious. The dialect
# is openai unless the name is a dialect's. Those on this machine need no key; they are asked for the models they have loaded.
_TABLE = """
openai      | OpenAI                 | https://api.openai.com/v1                                  | OPENAI_API_KEY       | gpt-4.1-mini
azure       | Azure OpenAI           | https://${AZURE_OPENAI_RESOURCE}.openai.azure.com/openai/v1 | AZURE_OPENAI_API_KEY |
anthropic   | Anthropic              | https://api.anthropic.com                                  | ANTHROPIC_API_KEY    | claude-sonnet-4-5
gemini      | Google Gemini          | https://generativelanguage.googleapis.com                  | GEMINI_API_KEY       | gemini-2.5-flash
deepseek    | DeepSeek               | https://api.deepseek.com/v1                                | DEEPSEEK_API_KEY     | deepseek-chat
mistral     | Mistral                | https://api.mistral.ai/v1                                  | MISTRAL_API_KEY      | mistral-small-latest
groq        | Groq                   | https://api.groq.com/openai/v1                             | GROQ_API_KEY         |
openrouter  | OpenRouter             | https://openrouter.ai/api/v1                               | OPENROUTER_API_KEY   | openrouter/auto
xai         | xAI                    | https://api.x.ai/v1                                        | XAI_API_KEY          |
together    | Together               | https://api.together.xyz/v1                                | TOGETHER_API_KEY     |
moonshot    | Moonshot (月之暗面)    | https://api.moonshot.cn/v1                                 | MOONSHOT_API_KEY     |
zhipu       | Zhipu (智谱)           | https://open.bigmodel.cn/api/paas/v4                       | ZHIPUAI_API_KEY      |
qwen        | Qwen (通义千问)        | https://dashscope.aliyuncs.com/compatible-mode/v1          | DASHSCOPE_API_KEY    | qwen-plus
doubao      | Doubao (豆包)          | https://ark.cn-beijing.volces.com/api/v3                   | ARK_API_KEY          |
siliconflow | SiliconFlow (硅基流动) | https://api.siliconflow.cn/v1                              | SILICONFLOW_API_KEY  |
ollama      | Ollama                 | http://127.0.0.1:11434                                     |                      |
lmstudio    | LM Studio              | http://127.0.0.1:1234/v1                                   |                      |
llamacpp    | llama.cpp              | http://127.0.0.1:8080/v1                                   |                      |
vllm        | vLLM                   | http://127.0.0.1:8000/v1                                   |                      |
"""


PRESETS: Mapping[str, Provider] = {
    name: Provider(
        name=name,
        label=label,
        dialect=name if name in DIALECTS else DIALECTS[0],
        base_url=Template(text=base_url),
        key_variable=variable or None,
        default_model=model or None,
        preset=True,
    )
    for name, label, base_url, variable, model in (map(str.strip, row.split("|")) for row in _TABLE.strip().split("\n"))
}
DEMO_PROVIDER = Provider(
    name=DEMO, label="demo model", models=DIALECTS, default_model=DIALECTS[0], preset=True, embedded=True
)


def service_at(address: str) -> str:
    """Return the name of the preset with this address, whatever the provider is called; empty if no preset has it."""
    place = parts_of(address).netloc.lower()
    if place.endswith(".openai.azure.com"):
        return "azure"
    return next((name for name, preset in PRESETS.items() if parts_of(preset.base_url.text).netloc == place), "")
