"""The quirks' stories: what upstream does, what Yantra does without, and why.

docs/concepts/quirks.md is this table.

Source: behaviour of ASTRA-sim 2 (master of 2026-03), measured on its binaries.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.scenario.quirks import Quirk


class Story(NamedTuple):
    upstream: str
    yantra: str
    why: str


STORIES: dict[Quirk, Story] = {
    Quirk.WHOLE_NANOSECONDS: Story(
        "truncates every delay to a whole nanosecond",
        "counts picoseconds and rounds to the nearest",
        "a 30 ns hop loses up to 3 % by truncation, and errors add up over thousands of steps",
    ),
    Quirk.LOWEST_DIMENSION_ONLY: Story(
        "charges a message between ranks that differ in several dimensions for the lowest only "
        "(analytical network)",
        "adds the latencies of all dimensions crossed and takes the narrowest bandwidth",
        "point-to-point traffic across dimensions would be too fast",
    ),
    Quirk.LINKS_CARRY_ANYTHING: Story(
        "lets all messages cross a link at once, each at the full rate (analytical network)",
        "has messages take turns on the links of each rank, in order of arrival",
        "an all-reduce with 16 chunks in flight would have 16 times the bandwidth of its links",
    ),
    Quirk.SEND_COMPLETES_ON_ARRIVAL: Story(
        "completes a send, and frees its slot, when the last byte has arrived",
        "completes it when the last byte has left",
        "the sender's engine is free while the message is on the wire",
    ),
    Quirk.PADDED_CHUNKS: Story(
        "makes all chunks equal, at least one byte per rank of the whole system, and rounds their "
        "number up, so a size that chunks do not divide adds a whole chunk",
        "cuts the collective into chunks that add up to its size",
        "1 MiB + 1 byte in 4 chunks would move 1.25 MiB",
    ),
    Quirk.HALF_QUEUES: Story(
        "with several queues per dimension, lets reduce-scatter and all-reduce phases of a "
        "hierarchical all-reduce use the first half of them and all-gather phases the second",
        "uses all queues in turn, by the number of the chunk",
        "half of the configured concurrency would stay idle, and ranks that also work in other "
        "groups would take different queues and directions for one chunk",
    ),
    Quirk.PHASES_AS_READY: Story(
        "queues the chunks of all communicators together and starts their phases as they become "
        "ready, in an order that differs between ranks that are not in step",
        "gives each communicator its own queues, and all ranks start the phases in the order of "
        "the rank that reaches each first; likewise Themis begins its loads anew with whoever "
        "comes first to a collective, and not with rank 0",
        "ranks that run different chunks wait for each other for ever: every all-reduce over three "
        "dimensions whose ranks start a little apart",
    ),
    Quirk.UNEVEN_REDUCTIONS: Story(
        "charges local reductions by counting hand-overs in groups, which fits the data only for "
        "a ring: direct with a window charges every second group, halving-doubling the size of "
        "the next message and one step too few, the tree also its way down; message sizes round "
        "down",
        "charges each received byte that is to be added once, and rounds message sizes up",
        "the time of a reduction must follow the data",
    ),
    Quirk.GROUP_HAND_OVER: Story(
        "hands messages of subset groups over in 10 ns, whatever the endpoint delay",
        "uses the endpoint delay",
        "the delay is a property of the endpoint, not of the group",
    ),
    Quirk.GROUP_RING: Story(
        "runs every collective of a subset group over one flat ring of its members, with the "
        "queues of dimension 0",
        "runs groups that span whole dimensions of the network dimension by dimension, like a "
        "collective over all ranks",
        "a group along dimension 1 does not use the links of dimension 0",
    ),
    Quirk.FOUR_DIMENSIONS: Story(
        "involves the first four dimensions in a collective of all ranks whose node has no "
        "involved_dim",
        "involves all dimensions",
        "ranks that differ in the fifth dimension would never exchange anything; with the quirk "
        "Yantra warns",
    ),
    Quirk.BUS_CHARGES_REDUCTION_TWICE: Story(
        "charges a reduction on the shared bus and once more behind it",
        "charges it on the bus",
        "it happens once",
    ),
    Quirk.SIZES_OF_32_BITS: Story(
        "keeps sizes on the shared bus and under the rendezvous protocol in 32 bits with a sign",
        "keeps them in 64",
        "a message of 4 GiB and 1 byte would be one of 1 byte; with the quirk Yantra warns, and "
        "refuses what 32 bits make negative or, under the rendezvous protocol, nothing",
    ),
    Quirk.MISMATCHED_COLLECTIVES_MEET: Story(
        "pairs messages by tag and size alone, so that if ranks enter different collectives as the "
        "k-th of a communicator, these complete each other where messages have equal sizes",
        "lets only equal collectives complete each other and reports others as a deadlock",
        "an all-gather must not end because of a reduce-scatter; with the quirk Yantra warns",
    ),
    Quirk.HASH_ORDER_CUSTOM: Story(
        "starts the ready nodes of a custom collective in the order of a hash set",
        "starts them in ascending id",
        "the order should be the author's",
    ),
    Quirk.BROADCAST_IS_A_TIMER: Story(
        "lets a broadcast take its recorded duration, or 1 ns",
        "runs it with an algorithm",
        "it moves data",
    ),
    Quirk.SKIPPED_NODES_DO_NOT_WAKE: Story(
        "does not look for ready nodes after it skips a node (invalid, metadata, a kernel of no "
        "bytes), so its children wait for the next completion on the rank",
        "starts the children at once",
        "dependencies are met",
    ),
    Quirk.NO_DURATION_TAKES_A_NANOSECOND: Story(
        "lets a node whose recorded duration is 0 take 1 ns",
        "lets it take no time",
        "the recorded duration is the duration",
    ),
    Quirk.WHOLE_MICROSECONDS: Story(
        "takes recorded durations in whole microseconds, `duration_micros`, and nothing else",
        "takes the exact nanoseconds of the attribute `duration_ns` where a node has it",
        "profilers record nanoseconds, and a kernel of 1.9 us must not take 1",
    ),
    Quirk.ZERO_OP_KERNEL_NEVER_ENDS: Story(
        "gives a kernel of 0 operations under the roofline 2^63 ns",
        "gives it the time of its memory traffic",
        "a copy has no operations",
    ),
    Quirk.ZERO_BYTE_KERNEL_IS_SKIPPED: Story(
        "skips a kernel that moves no bytes under the roofline, whatever its operations",
        "gives it the time of its operations at peak",
        "what works on registers alone still works",
    ),
    Quirk.UNREACHABLE_NODES_ARE_DROPPED: Story(
        "reports a rank as finished when only nodes on a dependency cycle are left",
        "refuses the trace and names the cycle",
        "work must not vanish; with the quirk Yantra warns",
    ),
    Quirk.DUPLICATE_IDS_MERGE: Story(
        "merges nodes with the same id into one: the body of the last, the dependencies of all",
        "refuses the trace",
        "it is a defect of the writer; with the quirk Yantra warns",
    ),
    Quirk.TUTORIAL_HOTI2024: Story(
        "(only the tutorial's release) takes a node without is_cpu_op for a CPU operation, so "
        "that collectives without a recorded duration are skipped",
        "takes it for a device operation, as upstream has done since",
        "explains the tutorial's 195206000; the same traces take 195350188",
    ),
    Quirk.COLLECTIVES_START_TOGETHER: Story(
        "(only the branch of MLSys 2026) starts a collective when all members have reached it and "
        "have their slot free, and gives it the slot only then; calls of equal type, size, tag and "
        "group meet",
        "starts it at each rank that reaches it and has the slot, where it waits for the others",
        "a rank that waits for others is busy; with the quirk it can start other collectives and "
        "messages meanwhile",
    ),
    Quirk.GROUPS_ARE_RINGS: Story(
        "(only the branch of MLSys 2026) runs collectives of subset groups as rings, whatever the "
        "algorithms are",
        "runs them with the algorithm of their kind",
        "the algorithm is chosen by the user",
    ),
    Quirk.GROUPS_BY_NAME_OF_NODES: Story(
        "(only the branch of MLSys 2026) takes groups from nodes named ## process_group:init ##, "
        "whatever their type, and skips these",
        "takes groups from the group file, and runs such a node as what it is",
        "what a node does is its type, not its name",
    ),
    Quirk.KERNELS_READ_THEIR_INPUTS: Story(
        "(only the branch of MLSys 2026) adds to the bytes of a kernel under the roofline the "
        "tensor sizes of the nodes whose data it depends on",
        "moves the bytes that the kernel states",
        "a trace's tensor_size already says what a kernel moves",
    ),
}
