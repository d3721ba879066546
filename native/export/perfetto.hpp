// PerfettoWriter: a timeline as Perfetto's protobuf (protos/perfetto/trace: trace_packet,
// track_event, track_descriptor, debug_annotation, interned_data). Trade-off: a slice is two
// packets, some 75 bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/interner.hpp"
#include "export/timeline.hpp"

namespace yantra {

class PerfettoWriter {
public:
    PerfettoWriter();

    // The text's number in columns.
    u64 text(std::string_view words) { return texts_.intern(words); }

    // Ordered by `place`.
    void process(u64 track, u64 number, std::string_view name, u64 place);
    void track(u64 track, u64 parent, std::string_view name, std::string_view about);
    void counter(u64 track, u64 parent, std::string_view name, std::string_view unit);
    void slices(const Slices& slices, const MessageEnds& ends);
    void values(u64 track, std::span<const u64> time, std::span<const double> value);

    std::string take();
    void finish() {}

private:
    enum Space : u8 { names = 1, categories = 2, argument_names = 4, argument_texts = 8 };

    void describe(std::string_view descriptor);
    void packet(u64 time);
    void event(u64 type, u64 track);
    void arguments(const std::vector<Argument>& arguments, std::size_t at);
    u64 known(u64 text, Space space);

    Interner texts_;
    std::vector<u8> known_;      // by text: the spaces in which the file has it
    std::string out_, packet_, event_, annotation_, fresh_;
};

}  // namespace yantra
