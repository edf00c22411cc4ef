"""The machinery: sources -> tables -> views -> verdicts -> report."""
