// KinetoFile: events of a PyTorch profiler trace, straight into a table for each kind.
// Trade-off: what needs a look at the whole trace (begins and ends, work without a known category,
// texts in place of numbers) is left to others, as a whole file.
// Source: the writer of pytorch/kineto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/interner.hpp"
#include "trace/linking/kineto_event.hpp"

namespace yantra::linking {

// Rows of one kind in file order. A column without any number is empty.
struct EventTable {
    std::vector<std::int64_t> start, end, pid, tid;  // ns
    std::vector<std::uint32_t> name, cat, index;     // place in the file
    std::vector<std::int64_t> id, external, rf_id, seq_id, correlation, stream, device, bytes;
    std::vector<std::uint32_t> shapes;
    // The arguments of some, as JSON.
    std::vector<std::uint32_t> with_args;
    std::vector<std::string> args;

    std::size_t size() const { return start.size(); }
    // By start, longest first, then as in the file.
    void sort();
};

struct KinetoFile {
    enum Kind : std::uint8_t { cpu, call, device, sync, forward, backward, aside, kinds };

    // What phases and categories are.
    std::unordered_map<std::string, Kind> categories;
    std::vector<std::string> call_endings;
    std::string flow_phases, flow_category;
    bool has_shapes = false;

    // Texts are as in JSON, with its escapes. Shapes are four values, with zero bytes between.
    Interner names, shapes;
    EventTable tables[aside];
    Interner aside_categories, phases, texts;
    std::vector<std::uint64_t> aside_counts, phase_counts;
    Exactness exactness;
    std::uint64_t events = 0, flow_ends = 0, steps_of_flows = 0;

    // Takes a list of events; false if one is not of the form.
    bool feed(std::string_view text);

    // Events come in the order of `EventTable::sort`, ends of flows as in the file; false if their times
    // are not of one exactness.
    bool finish();
};

}  // namespace yantra::linking
