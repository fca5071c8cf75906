"""A reactive runtime for LLM agents."""
