"""ASTRA-sim Service's API: upload a workload, set a configuration, run it, fetch the results.

The server speaks the gRPC service `astra.Openapi`, so that clients and notebooks of ASTRA-sim
Service run unchanged. Like that service it holds one configuration at a time, for all its clients.

    wire.py      the encoding of protobuf, for the few messages there are
    messages.py  those messages: names, numbers and types of their fields
    archive.py   uploads, checked and unpacked
    files.py     a configuration -> ASTRA-sim's input files
    job.py       the process that runs them
    worker.py    that process as the server sees it
    session.py   what the API does
    server.py    the same over gRPC, with limits and a token

Source: github.com/astra-sim/astra-sim-service, schemas of versions 1.1.0 to 1.4.0.
"""
