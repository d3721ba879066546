// Meetings: how the messages of a collective chunk find the stream they belong to.
//
// Matching by (tag, source, destination, size) costs a table of everything in flight. Within an
// exchange the k-th message from a peer always belongs to the k-th receive posted for it, so one
// counter per peer does: arrivals less receives posted. This is exact as long as all members run the
// same phases, which is what a meeting stands for. Streams that differ never meet and the run ends in
// a deadlock; upstream, which pairs messages by tag and size alone, may let different collectives
// complete each other, so with that quirk the run is started again matching by tag.
#include <algorithm>

#include "base/ensure.hpp"
#include "sim/simulation.hpp"

namespace yantra {

namespace {

constexpr u32 slot_bits = 20;
constexpr u32 slot_mask = (1u << slot_bits) - 1;

}  // namespace

// Under the rendezvous protocol every message needs its receive, which only the matcher knows.
bool Simulation::counts_arrivals(const Stream& s) const {
    return s.meeting != none && !model_.system.rendezvous;
}

u32 Simulation::member_index(const Stream& s, const Plan& plan) const {
    if (plan.communicator_size == grid_.ranks()) {
        return s.rank;
    }
    const ChunkPlace chunk = chunk_of(s);
    u32 index = 0;
    for (u32 level = 0; level < plan.levels.size(); ++level) {
        const Place place = place_in(chunk, level);
        index += place.position * place.index_stride;
    }
    return index;
}

u32 Simulation::find_meeting(u32 stream, u32 communicator) {
    const Stream& s = streams_[stream];
    const auto first = phases_.begin() + s.first_phase;
    const auto last = phases_.begin() + s.end_phase;
    auto same = [](const Phase& a, const Phase& b) {
        return a.program == b.program && a.level == b.level && a.data == b.data;
    };
    const u64 number = s.id - model_.communicators[communicator].first_stream;
    const u32 shared = circle(s.rank, communicator);
    std::vector<u32>& by_number = meeting_of_[shared];
    if (by_number.size() <= number) {
        by_number.resize(number + 1, none);
    }
    u32& entry = by_number[number];
    for (u32 m = entry; m != none; m = meetings_[m].next) {
        const std::vector<Phase>& phases = meetings_[m].phases;
        if (std::equal(phases.begin(), phases.end(), first, last, same)) {
            return m;
        }
    }
    if (entry != none && !mismatch_) {
        note_mismatch(s, meetings_[entry]);
    }
    const u32 meeting = meetings_.take_as_left();
    Meeting& m = meetings_[meeting];
    m.number = number;
    m.communicator = shared;
    m.next = entry;
    m.left = 0;
    m.phases.assign(first, last);
    m.stream.assign(members_of(s, shared), none);
    m.early.clear();
    entry = meeting;
    return meeting;
}

void Simulation::note_mismatch(const Stream& s, const Meeting& other) {
    const auto there = std::find_if(other.stream.begin(), other.stream.end(),
                                    [](u32 stream) { return stream != none; });
    if (there == other.stream.end()) {
        return;
    }
    const Stream& t = streams_[*there];
    mismatch_ = {s.rank, datasets_[s.dataset].node, t.rank, datasets_[t.dataset].node};
}

void Simulation::join_meeting(u32 stream, u32 communicator) {
    const u32 meeting = find_meeting(stream, communicator);
    Stream& s = streams_[stream];
    Meeting& m = meetings_[meeting];
    s.meeting = meeting;
    s.member = folded_ ? folding_->place_in(m.communicator, s.rank)
                        : member_index(s, model_.plans[s.plan]);
    m.stream[s.member] = stream;
    if (!m.early.empty()) {
        s.early = m.early[s.member];
        m.early[s.member] = none;
        if constexpr (recorded_run) {
            for (u32 at = s.early; at != none; at = early_[at].next) {
                record_receiver(s, at);
            }
        }
    }
}

void Simulation::leave_meeting(u32 stream) {
    const u32 meeting = streams_[stream].meeting;
    if (meeting == none) {
        return;
    }
    Meeting& m = meetings_[meeting];
    m.stream[streams_[stream].member] = none;
    if (++m.left < m.stream.size()) {
        return;
    }
    u32* link = &meeting_of_[m.communicator][m.number];
    while (*link != meeting) {
        link = &meetings_[*link].next;
    }
    *link = m.next;
    meetings_.give_back(meeting);
}

i32& Simulation::arrival_counter(ExchangeState& x, u32 slot) {
    return x.counters == none ? x.near[slot] : counters_[x.counters + slot];
}

void Simulation::open_counters(Stream& s) {
    const u32 size = s.place.size;
    ensure(size <= slot_mask, "a group too large for its arrival counters");
    if (!s.exchange.machine->neighbours_only) {
        if (free_counters_.size() <= size) {
            free_counters_.resize(size + 1);
        }
        if (free_counters_[size].empty()) {
            s.exchange.counters = static_cast<u32>(counters_.size());
            counters_.resize(counters_.size() + size);
        } else {
            s.exchange.counters = free_counters_[size].back();
            free_counters_[size].pop_back();
        }
    }
    s.started = s.phase - s.first_phase;
    u32* link = &s.early;
    while (*link != none) {
        const u32 at = *link;
        if (early_[at].mark >> slot_bits == s.started) {
            ++arrival_counter(s.exchange, early_[at].mark & slot_mask);
            if constexpr (recorded_run) {
                record_counted(s, at);
            }
            *link = early_[at].next;
            early_.give_back(at);
        } else {
            link = &early_[at].next;
        }
    }
}

// All counters are zero again: every message of the phase has met its receive.
void Simulation::close_counters(Stream& s) {
    s.started = none;
    if (s.exchange.counters != none) {
        free_counters_[s.place.size].push_back(s.exchange.counters);
    }
}

// Settles whom the next sends of the run go to, and where they and the receives are counted.
void Simulation::resolve_peer(Stream& s) {
    ExchangeState& x = s.exchange;
    const Run& details = x.machine->runs[x.sent.run];
    x.send_bytes = details.bytes.of(x.data, x.round_up);
    const u32 to = s.place.position_at(details.out, details.by_xor, x.clockwise);
    x.to_rank = s.place.rank_at(to);
    if (!counts_arrivals(s)) {
        const u32 from = s.place.position_at(details.into, details.by_xor, x.clockwise);
        x.from_rank = s.place.rank_at(from);
        return;
    }
    const i32 out = x.clockwise ? details.out : -details.out;
    const i32 into = x.clockwise ? details.into : -details.into;
    x.to_member = folded_ ? folding_->place_in(meetings_[s.meeting].communicator,
                                                folding_->class_of[x.to_rank])
                           : s.member + (to - s.place.position) * s.place.index_stride;
    x.to_stream = meetings_[s.meeting].stream[x.to_member];
    const ExchangeProgram& machine = *x.machine;
    x.to_mark = (s.phase - s.first_phase) << slot_bits |
                machine.counter_of(-out, details.by_xor, s.place.size);
    x.from_slot = machine.counter_of(into, details.by_xor, s.place.size);
}

// Sends to the current peer; the message will count at the peer's counter for this rank.
void Simulation::exchange_tell(Stream& s) {
    ExchangeState& x = s.exchange;
    if (x.to_stream == none) {
        x.to_stream = meetings_[s.meeting].stream[x.to_member];
    }
    Notice notice{event::exchange_arrival | x.to_mark << event::kind_bits, x.to_stream};
    if (x.to_stream == none) {
        notice = {event::exchange_early, early_.take({s.meeting, x.to_member, x.to_mark, none})};
    }
    if constexpr (recorded_run) {
        record_tell(s);
    }
    if (folded_) [[unlikely]] {
        tell_for_class(s, notice);
        return;
    }
    ++message_count_;
    network_->send(s.rank, x.to_rank, x.send_bytes, notice, {});
}

void Simulation::exchange_post(Stream& s, u32 stream) {
    const bool has_arrived = arrival_counter(s.exchange, s.exchange.from_slot)-- > 0;
    if constexpr (recorded_run) {
        record_post(s, s.exchange.from_slot, has_arrived);
    }
    if (has_arrived) {
        queue_.schedule(queue_.now(), event::exchange_ready, stream);
    }
}

void Simulation::exchange_arrived(u32 stream, u32 mark) {
    Stream& s = streams_[stream];
    if (s.started != mark >> slot_bits) {
        s.early = early_.take({s.meeting, s.member, mark, s.early});
        if constexpr (recorded_run) {
            record_early(s.early);
        }
        return;
    }
    const bool is_awaited = ++arrival_counter(s.exchange, mark & slot_mask) <= 0;
    if constexpr (recorded_run) {
        record_arrival(s, mark & slot_mask, is_awaited);
    }
    if (is_awaited) {
        exchange_received(stream);
    }
}

void Simulation::exchange_arrived_early(u32 at) {
    if constexpr (recorded_run) {
        record_early(at);
    }
    const Early arrival = early_[at];
    Meeting& m = meetings_[arrival.meeting];
    const u32 stream = m.stream[arrival.member];
    if (stream != none) {
        if constexpr (recorded_run) {
            record_receiver(streams_[stream], at);
        }
        early_.give_back(at);
        exchange_arrived(stream, arrival.mark);
        return;
    }
    if (m.early.empty()) {
        m.early.assign(m.stream.size(), none);
    }
    early_[at].next = m.early[arrival.member];
    m.early[arrival.member] = at;
}

}  // namespace yantra
