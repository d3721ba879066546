"""Looking at traces: statistics, checks, drawings, timelines, differences, obfuscation.

Each tool is a module of its own, imported when it is used; they share the reading of a job's files
(`job`), the columns of a graph (`columns`), communicators (`groups`) and names (`names`).
"""
