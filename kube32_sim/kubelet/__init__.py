"""Simulated ESP32 boards: their figures, what pods do on them, and the agent that speaks for each to the API server."""
