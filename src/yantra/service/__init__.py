"""ASTRA-sim Service's API: upload a workload, set a configuration, run it, fetch the results.

Serves gRPC `astra.Openapi`, so that its clients and notebooks run unchanged; like that service,
with one configuration at a time for all.

    wire.py      protobuf's encoding
    messages.py  the messages: names, numbers and types of fields
    archive.py   uploads, checked and unpacked
    files.py     a configuration -> ASTRA-sim's input files
    job.py       the process that runs them
    worker.py    that process as the server sees it
    session.py   what the API does
    server.py    the same over gRPC, with limits and a token

Source: github.com/astra-sim/astra-sim-service, schemas of versions 1.1.0 to 1.4.0.
"""
