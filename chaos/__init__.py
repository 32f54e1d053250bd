"""Faults on purpose: what longpass survives, and what each fault costs. See docs/reliability.md."""
