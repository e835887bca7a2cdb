"""The app: one module per tab. Handlers read their inputs, call one function, return its outputs."""
