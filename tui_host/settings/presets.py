"""Built-in providers. To use one, a user only sets its key in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tui_host.settings.schema import DEMO, DIALECTS, Dialect, Provider, Template
from tui_host.settings.urls import parts_of

# name, label, dialect, base URL, the variable that holds the key, and a model to start with if one is obvious.
_TABLE: tuple[tuple[str, str, Dialect, str, str | None, str | None], ...] = (
    ("openai", "OpenAI", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4.1-mini"),
    (
        "azure",
        "Azure OpenAI",
        "openai",
        "https://${AZURE_OPENAI_RESOURCE}.openai.azure.com/openai/v1",
        "AZURE_OPENAI_API_KEY",
        None,
    ),
    ("anthropic", "Anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-sonnet-4-5"),
    (
        "gemini",
        "Google Gemini",
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "gemini-2.5-flash",
    ),
    ("deepseek", "DeepSeek", "openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat"),
    ("mistral", "Mistral", "openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-small-latest"),
    ("groq", "Groq", "openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY", None),
    ("openrouter", "OpenRouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto"),
    ("xai", "xAI", "openai", "https://api.x.ai/v1", "XAI_API_KEY", None),
    ("together", "Together", "openai", "https://api.together.xyz/v1", "TOGETHER_API_KEY", None),
    ("moonshot", "Moonshot (月之暗面)", "openai", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", None),
    ("zhipu", "Zhipu (智谱)", "openai", "https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY", None),
    (
        "qwen",
        "Qwen (通义千问)",
        "openai",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        "qwen-plus",
    ),
    ("doubao", "Doubao (豆包)", "openai", "https://ark.cn-beijing.volces.com/api/v3", "ARK_API_KEY", None),
    (
        "siliconflow",
        "SiliconFlow (硅基流动)",
        "openai",
        "https://api.siliconflow.cn/v1",
        "SILICONFLOW_API_KEY",
        None,
    ),
    # On this machine: needs no key; the server is asked for its models, which the user has pulled or loaded.
    ("ollama", "Ollama", "ollama", "http://127.0.0.1:11434", None, None),
    ("lmstudio", "LM Studio", "openai", "http://127.0.0.1:1234/v1", None, None),
    ("llamacpp", "llama.cpp", "openai", "http://127.0.0.1:8080/v1", None, None),
    ("vllm", "vLLM", "openai", "http://127.0.0.1:8000/v1", None, None),
)

PRESETS: Mapping[str, Provider] = MappingProxyType(
    {
        name: Provider(
            name=name,
            label=label,
            dialect=dialect,
            base_url=Template(text=base_url),
            key_variable=variable,
            default_model=model,
            preset=True,
        )
        for name, label, dialect, base_url, variable, model in _TABLE
    }
)
"""The presets by name, in the order in which they are offered."""

_AZURE = ".openai.azure.com"


def service_at(address: str) -> str:
    """Return the name of the preset with this address, whatever the provider is called; empty if no preset has it."""
    place = parts_of(address).netloc.lower()
    if place.endswith(_AZURE):
        return "azure"
    return next((name for name, preset in PRESETS.items() if parts_of(preset.base_url.text).netloc == place), "")


DEMO_PROVIDER = Provider(
    name=DEMO,
    label="demo model",
    base_url=Template(text=""),
    models=DIALECTS,
    default_model=DIALECTS[0],
    preset=True,
    embedded=True,
)
"""The built-in demo model. Its base URL is empty: the host reads the URL from the demo model's process."""
