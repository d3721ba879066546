// PerfettoWriter: a timeline as the protobuf that Perfetto reads (TracePacket, TrackEvent).
//
// One sequence of packets holds everything, so that a text is written once and then named by number.
// Trade-off: a slice is a packet for its begin and one for its end (the format has no slice with a
// duration), some 75 bytes together.
// Source: Perfetto's protos/perfetto/trace (trace_packet, track_event, track_descriptor,
// debug_annotation, interned_data), whose field numbers are in the .cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/interner.hpp"
#include "base/vector.hpp"
#include "export/timeline.hpp"

namespace yantra {

class PerfettoWriter {
public:
    PerfettoWriter();

    // The number that stands for a text in columns.
    u64 text(std::string_view words) { return texts_.intern(words); }

    // Processes stand in the order of their `place`.
    void process(u64 track, u64 number, std::string_view name, u64 place);
    void track(u64 track, u64 parent, std::string_view name, std::string_view about);
    void counter(u64 track, u64 parent, std::string_view name, std::string_view unit);
    void slices(const Slices& slices, const MessageEnds& ends);
    void values(u64 track, std::span<const u64> time, std::span<const double> value);

    // What was written since the last call.
    std::string take();
    void finish() {}

private:
    enum Space : u8 { names = 1, categories = 2, argument_names = 4, argument_texts = 8 };

    void describe(std::string_view descriptor);
    void packet(u64 time);
    void event(u64 type, u64 track);
    void arguments(const Vector<Argument>& arguments, std::size_t at);
    u64 known(u64 text, Space space);

    Interner texts_;
    Vector<u8> known_;      // by text: the spaces in which the file has it
    std::string out_, packet_, event_, annotation_, fresh_;
};

}  // namespace yantra
