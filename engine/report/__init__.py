"""The result in four forms: terminal, Markdown, HTML, JSON. Each renders `result.Result` through `summary`, so that they agree."""
