"""Yantra's times inside others' engines: one small file for each interface that takes a predictor.

Their schedulers run for real, so what the host takes is left out unless it is asked for.
"""
