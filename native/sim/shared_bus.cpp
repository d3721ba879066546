// The LogGP bus between a rank and its memory agent (astra-sim-semantics 5.8).
#include <algorithm>
#include <string>

#include "sim/simulation.hpp"

namespace yantra {

namespace {

constexpr u32 rank_side = 0;
constexpr u32 memory_side = 1;
constexpr u32 inner_near = 2;
constexpr u32 inner_far = 3;
constexpr double inner_gap_per_byte = 0.0038;
constexpr u32 sends_before_yielding = 8;
constexpr u64 processing_overhead = 50;

u32 partner_of(u32 port) { return port ^ 1; }
bool has_inner(u32 port) { return port == rank_side; }

// The request on the inner bus that stands for `outer` and continues it when done.
BusRequest inner_request(const BusRequest& outer, BusRequest::Then then, bool back) {
    BusRequest inner = outer;
    inner.outer_process = outer.process;
    inner.outer_back = outer.back;
    inner.outer_then = outer.then;
    inner.then = then;
    inner.process = false;
    inner.back = back;
    return inner;
}

BusRequest outer_request(const BusRequest& inner) {
    BusRequest outer = inner;
    outer.process = inner.outer_process;
    outer.back = inner.outer_back;
    outer.then = inner.outer_then;
    return outer;
}

}  // namespace

// Hands a packet of a stream over between the rank and its memory agent; `part` is the run of an
// exchange or the operation of a graph.
void Simulation::hand_over(const Stream& s, u32 stream, u32 part, const HandOver& how, u64 bytes) {
    const SystemParameters& system = model_.system;
    const u32 then = how.of_graph ? graph_hand_over : hand_over_done;
    if (phase_of(s).fixed_hand_over) {
        local_.schedule(s.rank, system.group_hand_over, then, stream, part);
        return;
    }
    if (!system.bus.enabled) {
        local_.schedule(s.rank, system.endpoint_delay, then, stream, part);
        return;
    }
    BusRequest request;
    request.process = how.reduces;
    request.back = how.back;
    request.of_graph = how.of_graph;
    request.bytes = model_.quirks.sizes_of_32_bits ? static_cast<i32>(bytes) : static_cast<i64>(bytes);
    if (request.bytes < 0) {
        throw Unsupported("a message of " + std::to_string(bytes) +
                          " bytes on the shared bus: in the 32 bits that ASTRA-sim keeps of it, it is "
                          "negative, and ASTRA-sim aborts; use more chunks, or leave out the quirk "
                          "sizes-of-32-bits");
    }
    request.stream = stream;
    request.part = part;
    bus_request(s.rank, how.from_memory ? memory_side : rank_side, request);
}

void Simulation::bus_request(u32 rank, u32 port, BusRequest request) {
    if (has_inner(port)) {
        bus_request(rank, inner_far, inner_request(request, BusRequest::queue_send, false));
        return;
    }
    BusPort& p = buses_[rank].ports[port];
    p.sends.push_back(request);
    bus_continue(rank, port);
}

// A port that has sent many times in a row lets its partner go first.
bool Simulation::bus_yields(u32 rank, u32 port) {
    BusPort& p = buses_[rank].ports[port];
    BusPort& partner = buses_[rank].ports[partner_of(port)];
    if (p.sent_in_a_row <= sends_before_yielding || partner.sends.empty() ||
        partner.sent_in_a_row > sends_before_yielding) {
        return false;
    }
    if (partner.current == BusPort::idle) {
        bus_continue(rank, partner_of(port));
    }
    return true;
}

void Simulation::bus_continue(u32 rank, u32 port) {
    BusPort& p = buses_[rank].ports[port];
    if (p.current == BusPort::idle && !p.sends.empty() && !bus_yields(rank, port)) {
        bus_start(rank, port);
    }
}

void Simulation::bus_start(u32 rank, u32 port) {
    const SharedBusParameters& bus = model_.system.bus;
    BusPort& p = buses_[rank].ports[port];
    BusPort& partner = buses_[rank].ports[partner_of(port)];
    const u64 now = queue_.now();
    u64 wait = bus.overhead;
    if (p.previous == BusPort::sending && !(bus.overhead + (now - p.last) > bus.gap)) {
        wait = bus.gap - (now - p.last);
    }
    const BusRequest request = p.sends.front();
    p.sends.pop_front();
    if constexpr (recorded_run) {
        record_bus_start(rank, port, request);
    }
    partner.receives.push_back(request);
    partner.previous = partner.current;
    partner.current = BusPort::receiving;
    partner.sent_in_a_row = 0;
    const double per_byte = port >= inner_near
                                ? inner_gap_per_byte * static_cast<double>(model_.scale.ticks_per_ns())
                                : bus.gap_per_byte;
    const i64 least = model_.quirks.sizes_of_32_bits ? -1 : 0;   // a size of 0 is one cut to 32 bits
    const double transfer = static_cast<double>(std::max(request.bytes - 1, least)) * per_byte;
    const double there = static_cast<double>(wait) + transfer + static_cast<double>(bus.latency) +
                         static_cast<double>(bus.overhead);
    local_.schedule(rank, model_.scale.rounded(there), bus_received, partner_of(port), none);
    p.current = BusPort::sending;
    local_.schedule(rank, model_.scale.rounded(static_cast<double>(wait) + transfer), bus_sent, port,
                    none);
}

void Simulation::bus_sent_by(u32 rank, u32 port) {
    BusPort& p = buses_[rank].ports[port];
    p.last = queue_.now();
    p.previous = p.current;
    p.current = BusPort::idle;
    ++p.sent_in_a_row;
    bus_continue(rank, port);
}

void Simulation::bus_received_at(u32 rank, u32 port) {
    BusPort& p = buses_[rank].ports[port];
    p.last = queue_.now();
    p.previous = p.current;
    if (p.receives.size() < 2) {
        p.current = BusPort::idle;
    }
    BusRequest request = p.receives.front();
    p.receives.pop_front();
    if (request.process) {
        request.process = false;
        if (has_inner(port)) {
            bus_request(rank, inner_near, inner_request(request, BusRequest::queue_processing, true));
        } else {
            p.to_process.push_back(request);
        }
        bus_process(rank, port);
    } else {
        bus_return_or_retire(rank, port, request);
    }
    bus_continue(rank, port);
}

void Simulation::bus_return_or_retire(u32 rank, u32 port, BusRequest request) {
    const bool back = request.back;
    request.back = false;
    if (has_inner(port)) {
        bus_request(rank, inner_near,
                    inner_request(request, back ? BusRequest::queue_send : BusRequest::retire_outer, back));
    } else if (back) {
        buses_[rank].ports[port].sends.push_back(request);
    } else {
        bus_done(rank, request);
    }
}

void Simulation::bus_process(u32 rank, u32 port) {
    BusPort& p = buses_[rank].ports[port];
    if (p.processing || p.to_process.empty()) {
        return;
    }
    p.processing = true;
    const u64 hundreds = static_cast<u64>(p.to_process.front().bytes / 100);
    const u64 ticks = hundreds * model_.system.local_reduction_delay +
                      model_.scale.whole(processing_overhead);
    local_.schedule(rank, ticks, bus_processed, port, none);
}

void Simulation::bus_processed_at(u32 rank, u32 port) {
    BusPort& p = buses_[rank].ports[port];
    p.processing = false;
    const BusRequest request = p.to_process.front();
    p.to_process.pop_front();
    bus_return_or_retire(rank, port, request);
    bus_process(rank, port);
    bus_continue(rank, port);
}

// A request has crossed its bus. Inner requests continue the outer one at the rank's port.
void Simulation::bus_done(u32 rank, const BusRequest& request) {
    const BusRequest outer = outer_request(request);
    BusPort& p = buses_[rank].ports[rank_side];
    switch (request.then) {
        case BusRequest::deliver:
            bus_deliver(request);
            return;
        case BusRequest::queue_send:
            p.sends.push_back(outer);
            break;
        case BusRequest::queue_processing:
            p.to_process.push_back(outer);
            bus_process(rank, rank_side);
            break;
        case BusRequest::retire_outer:
            bus_deliver(request);
            break;
    }
    bus_continue(rank, rank_side);
}

// The bus has charged the reduction; upstream charges it again on delivery.
void Simulation::bus_deliver(const BusRequest& request) {
    const bool again = model_.quirks.bus_charges_reduction_twice;
    if (request.of_graph) {
        again ? graph_handed_over(request.stream, request.part)
              : graph_op_done(request.stream, request.part);
    } else {
        again ? exchange_handed_over(request.stream, request.part) : exchange_free(request.stream);
    }
}

}  // namespace yantra
