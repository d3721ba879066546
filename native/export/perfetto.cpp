#include "export/perfetto.hpp"

#include <bit>
#include <utility>
#include <vector>

#include "base/wire_writer.hpp"

namespace yantra {

namespace {

// Field numbers, by message.
namespace trace {
constexpr u32 packet = 1;
}
namespace packet_field {
constexpr u32 timestamp = 8, sequence = 10, track_event = 11, interned_data = 12, flags = 13;
constexpr u32 track_descriptor = 60, first_on_sequence = 87;
}
namespace descriptor {
constexpr u32 uuid = 1, name = 2, process = 3, parent_uuid = 5, counter = 8, rank = 12;
constexpr u32 description = 14, process_ordering = 19;
}
namespace process_field {
constexpr u32 pid = 1, name = 6;
}
namespace counter_field {
constexpr u32 unit_name = 6;
}
namespace event_field {
constexpr u32 category_iids = 3, annotations = 4, type = 9, name_iid = 10, track_uuid = 11;
constexpr u32 double_value = 44, flow_ids = 47, terminating_flow_ids = 48;
}
namespace annotation_field {
constexpr u32 name_iid = 1, unsigned_value = 3, double_value = 5, text_iid = 17;
}
namespace interned {
constexpr u32 categories = 1, names = 2, annotation_names = 3, annotation_texts = 29;
constexpr u32 iid = 1, text = 2;
}

constexpr u64 the_sequence = 1, state_cleared = 1, needs_state = 2, explicit_ordering = 1;
constexpr u64 slice_begin = 1, slice_end = 2, instant = 3, counter_value = 4;

void fixed(std::string& out, u32 field, u64 value) {
    WireWriter writer(out);
    writer.tag(field, WireType::fixed64);
    writer.fixed64(value);
}

void block(std::string& out, u32 field, std::string_view bytes) { WireWriter(out).block(field, bytes); }

}  // namespace

PerfettoWriter::PerfettoWriter() {
    WireWriter(packet_).number(packet_field::sequence, the_sequence);
    WireWriter(packet_).number(packet_field::flags, state_cleared);
    WireWriter(packet_).number(packet_field::first_on_sequence, 1);
    block(out_, trace::packet, packet_);
    std::string root;
    WireWriter(root).number(descriptor::uuid, 0);
    WireWriter(root).number(descriptor::process_ordering, explicit_ordering);
    describe(root);
}

void PerfettoWriter::process(u64 track, u64 pid, std::string_view name, u64 place) {
    std::string process;
    WireWriter(process).number(process_field::pid, pid);
    block(process, process_field::name, name);
    std::string text;
    WireWriter(text).number(descriptor::uuid, track);
    block(text, descriptor::process, process);
    WireWriter(text).number(descriptor::rank, place);
    describe(text);
}

void PerfettoWriter::track(u64 track, u64 parent, std::string_view name, std::string_view about) {
    std::string text;
    WireWriter(text).number(descriptor::uuid, track);
    block(text, descriptor::name, name);
    WireWriter(text).number(descriptor::parent_uuid, parent);
    if (!about.empty()) {
        block(text, descriptor::description, about);
    }
    describe(text);
}

void PerfettoWriter::counter(u64 track, u64 parent, std::string_view name, std::string_view unit) {
    std::string counter;
    block(counter, counter_field::unit_name, unit);
    std::string text;
    WireWriter(text).number(descriptor::uuid, track);
    block(text, descriptor::name, name);
    WireWriter(text).number(descriptor::parent_uuid, parent);
    block(text, descriptor::counter, counter);
    describe(text);
}

void PerfettoWriter::describe(std::string_view descriptor) {
    packet_.clear();
    WireWriter(packet_).number(packet_field::sequence, the_sequence);
    block(packet_, packet_field::track_descriptor, descriptor);
    block(out_, trace::packet, packet_);
}

void PerfettoWriter::packet(u64 time) {
    packet_.clear();
    WireWriter(packet_).number(packet_field::timestamp, time);
    WireWriter(packet_).number(packet_field::sequence, the_sequence);
    WireWriter(packet_).number(packet_field::flags, needs_state);
    if (!fresh_.empty()) {
        block(packet_, packet_field::interned_data, fresh_);
        fresh_.clear();
    }
    block(packet_, packet_field::track_event, event_);
    block(out_, trace::packet, packet_);
}

void PerfettoWriter::event(u64 type, u64 track) {
    event_.clear();
    WireWriter(event_).number(event_field::type, type);
    WireWriter(event_).number(event_field::track_uuid, track);
}

u64 PerfettoWriter::known(u64 text, Space space) {
    ensure(text < texts_.names().size(), "perfetto: no such text");
    known_.resize(texts_.names().size());
    u8& spaces = known_[text];
    if ((spaces & space) == 0) {
        spaces = static_cast<u8>(spaces | space);
        std::string entry;
        WireWriter(entry).number(interned::iid, text + 1);
        block(entry, interned::text, texts_.names()[text]);
        block(fresh_, space == names            ? interned::names
                      : space == categories     ? interned::categories
                      : space == argument_names ? interned::annotation_names
                                                : interned::annotation_texts,
              entry);
    }
    return text + 1;
}

void PerfettoWriter::arguments(const std::vector<Argument>& arguments, std::size_t at) {
    for (const Argument& argument : arguments) {
        const u64 value = argument.values[at];
        if (value == absent) {
            continue;
        }
        annotation_.clear();
        WireWriter(annotation_).number(annotation_field::name_iid, known(argument.name, argument_names));
        switch (argument.kind) {
            case Argument::Kind::whole:
                WireWriter(annotation_).number(annotation_field::unsigned_value, value);
                break;
            case Argument::Kind::real: fixed(annotation_, annotation_field::double_value, value); break;
            case Argument::Kind::text:
                WireWriter(annotation_).number(annotation_field::text_iid, known(value, argument_texts));
        }
        block(event_, event_field::annotations, annotation_);
    }
}

void PerfettoWriter::slices(const Slices& slices, const MessageEnds& ends) {
    check(slices, ends);
    struct Packets {
        void begin(std::size_t i) {
            to.event(slice_begin, slices.track[i]);
            WireWriter(to.event_).number(event_field::name_iid, to.known(slices.name[i], names));
            WireWriter(to.event_)
                .number(event_field::category_iids, to.known(slices.category[i], categories));
            to.arguments(slices.arguments, i);
            to.packet(slices.start[i]);
        }
        void message(std::size_t i) {
            to.event(instant, slices.track[ends.slice[i]]);
            WireWriter(to.event_).number(event_field::name_iid, to.known(ends.name[i], names));
            if (ends.flow[i] != absent) {
                fixed(to.event_,
                      ends.arrives[i] != 0 ? event_field::terminating_flow_ids : event_field::flow_ids,
                      ends.flow[i]);
            }
            to.arguments(ends.arguments, i);
            to.packet(ends.time[i]);
        }
        void end(std::size_t i) {
            to.event(slice_end, slices.track[i]);
            to.packet(slices.end[i]);
        }
        PerfettoWriter& to;
        const Slices& slices;
        const MessageEnds& ends;
    };
    in_order(slices, ends, Packets{*this, slices, ends});
}

void PerfettoWriter::values(u64 track, std::span<const u64> time, std::span<const double> value) {
    ensure(time.size() == value.size(), "perfetto: a time for each value");
    for (std::size_t i = 0; i < time.size(); ++i) {
        event(counter_value, track);
        fixed(event_, event_field::double_value, std::bit_cast<u64>(value[i]));
        packet(time[i]);
    }
}

std::string PerfettoWriter::take() { return std::exchange(out_, {}); }

}  // namespace yantra
