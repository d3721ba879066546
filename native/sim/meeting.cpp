// Meetings: how the messages of a collective chunk find the stream they belong to.
//
// Matching by (tag, source, destination, size) costs a table of everything in flight. Within an
// exchange the k-th message from a peer always belongs to the k-th receive posted for it, so one
// counter per peer does: arrivals less receives posted. This is exact as long as all members run the
// same phases, which is what a meeting stands for; streams that differ never meet, and the run ends
// in a deadlock that is reported, as it does upstream.
#include <algorithm>

#include "base/ensure.hpp"
#include "sim/simulation.hpp"

namespace yantra {

namespace {

constexpr u32 slot_bits = 20;
constexpr u32 slot_mask = (1u << slot_bits) - 1;

}  // namespace

u32 Simulation::member_index(const Stream& s, const Plan& plan) const {
    if (plan.communicator_size == grid_.ranks()) {
        return s.rank;
    }
    u32 index = 0;
    for (u32 level = 0; level < plan.levels.size(); ++level) {
        const Place place = place_in(s.rank, plan, level);
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
    const auto [entry, fresh] = meeting_of_[communicator].try_emplace(s.id, none);
    for (u32 m = entry->second; m != none; m = meetings_[m].next) {
        const std::vector<Phase>& phases = meetings_[m].phases;
        if (std::equal(phases.begin(), phases.end(), first, last, same)) {
            return m;
        }
    }
    const u32 meeting = meetings_.take();
    Meeting& m = meetings_[meeting];
    m.id = s.id;
    m.communicator = communicator;
    m.next = entry->second;
    m.phases.assign(first, last);
    m.stream.assign(model_.plans[s.plan].communicator_size, none);
    entry->second = meeting;
    return meeting;
}

void Simulation::join_meeting(u32 stream, u32 communicator) {
    const u32 meeting = find_meeting(stream, communicator);
    Stream& s = streams_[stream];
    Meeting& m = meetings_[meeting];
    s.meeting = meeting;
    s.member = member_index(s, model_.plans[s.plan]);
    m.stream[s.member] = stream;
    ++m.joined;
    if (!m.early.empty()) {
        s.early = m.early[s.member];
        m.early[s.member] = none;
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
    auto& of_communicator = meeting_of_[m.communicator];
    const auto entry = of_communicator.find(m.id);
    if (entry->second == meeting && m.next == none) {
        of_communicator.erase(entry);
    } else {
        u32* link = &entry->second;
        while (*link != meeting) {
            link = &meetings_[*link].next;
        }
        *link = m.next;
    }
    meetings_.give_back(meeting);
}

// The counter of a peer: by distance around the ring, or by the bits in which positions differ.
u32 Simulation::slot_of(const Stream& s, const ExchangeProgram& machine, i32 from_offset,
                        bool by_xor) const {
    if (by_xor) {
        return static_cast<u32>(from_offset < 0 ? -from_offset : from_offset);
    }
    const u32 distance = static_cast<u32>(from_offset < 0 ? from_offset + static_cast<i32>(s.place.size)
                                                          : from_offset);
    return machine.neighbours_only ? (distance == 1 ? 0 : 1) : distance;
}

i32& Simulation::arrival_counter(ExchangeState& x, u32 slot) {
    return x.counters == none ? x.near[slot] : counters_[x.counters + slot];
}

void Simulation::open_counters(Stream& s, const ExchangeProgram& machine) {
    const u32 size = s.place.size;
    ensure(size <= slot_mask, "a group too large for its arrival counters");
    if (!machine.neighbours_only) {
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

// Sends to a member; the message will count at the member's counter `slot`.
void Simulation::exchange_tell(const Stream& s, u32 to_position, u32 slot, u64 bytes) {
    const u32 member = s.member + (to_position - s.place.position) * s.place.index_stride;
    const u32 mark = (s.phase - s.first_phase) << slot_bits | slot;
    const u32 to = meetings_[s.meeting].stream[member];
    Notice notice{event::exchange_arrival | mark << event::kind_bits, to};
    if (to == none) {
        const u32 early = early_.take();
        early_[early] = {s.meeting, member, mark, none};
        notice = {event::exchange_early, early};
    }
    ++message_count_;
    network_->send(s.rank, s.place.rank_at(to_position), bytes, notice, {});
}

void Simulation::exchange_post(Stream& s, u32 stream, u32 slot) {
    if (arrival_counter(s.exchange, slot)-- > 0) {
        queue_.schedule(queue_.now(), event::exchange_ready, stream);
    }
}

void Simulation::exchange_arrived(u32 stream, u32 mark) {
    Stream& s = streams_[stream];
    if (s.started != mark >> slot_bits) {
        const u32 early = early_.take();
        early_[early] = {s.meeting, s.member, mark, s.early};
        s.early = early;
        return;
    }
    if (++arrival_counter(s.exchange, mark & slot_mask) <= 0) {
        exchange_received(stream);
    }
}

void Simulation::exchange_arrived_early(u32 at) {
    const Early arrival = early_[at];
    Meeting& m = meetings_[arrival.meeting];
    const u32 stream = m.stream[arrival.member];
    if (stream != none) {
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
