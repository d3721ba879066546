#include "memory/shared_bus.hpp"

#include <algorithm>
#include <string>

#include "base/ensure.hpp"
#include "base/unsupported.hpp"

namespace yantra {

namespace {

constexpr u32 rank_side = 0;
constexpr u32 memory_side = 1;
constexpr u32 inner_near = 2;
constexpr u32 inner_far = 3;
constexpr double inner_gap_per_byte = 0.0038;
constexpr u32 sends_before_yielding = 8;
constexpr u64 processing_overhead = 50;   // ns

u32 partner_of(u32 port) { return port ^ 1; }
bool has_inner(u32 port) { return port == rank_side; }

}  // namespace

SharedBus::SharedBus(Engine& engine, Completions& completions, const SharedBusParameters& parameters,
                     TimeScale scale, bool sizes_of_32_bits, u32 actors)
    : engine_(engine),
      completions_(completions),
      parameters_(parameters),
      scale_(scale),
      sizes_of_32_bits_(sizes_of_32_bits),
      probe_(engine.recorder()) {
    if (parameters.enabled) {
        ports_.resize(actors);
        probe_.keeps(actors);
    }
}

SharedBus::Request SharedBus::inner_request(const Request& outer, Request::Then then, bool back) {
    Request inner = outer;
    inner.outer_process = outer.process;
    inner.outer_back = outer.back;
    inner.outer_then = outer.then;
    inner.then = then;
    inner.process = false;
    inner.back = back;
    return inner;
}

SharedBus::Request SharedBus::outer_request(const Request& inner) {
    Request outer = inner;
    outer.process = inner.outer_process;
    outer.back = inner.outer_back;
    outer.then = inner.outer_then;
    return outer;
}

void SharedBus::cross(const BusCrossing& crossing) {
    Request made;
    made.process = crossing.reduces;
    made.back = crossing.back;
    made.bytes = sizes_of_32_bits_ ? in_32_bits(crossing.bytes) : static_cast<i64>(crossing.bytes);
    if (made.bytes < 0) {
        throw Unsupported("a message of " + std::to_string(crossing.bytes) +
                          " bytes on the shared bus: in the 32 bits that ASTRA-sim keeps of it, it is "
                          "negative, and ASTRA-sim aborts; use more chunks, or leave out the quirk "
                          "sizes-of-32-bits");
    }
    if (static_cast<u64>(made.bytes) != crossing.bytes) {
        cut_.note(crossing.bytes, static_cast<u64>(made.bytes));
    }
    made.node = crossing.node;
    made.completion = crossing.then;
    enqueue(crossing.actor, crossing.from_memory ? memory_side : rank_side, made);
}

void SharedBus::handle_of_actor(ActorId actor, const RankEvent& event) {
    const Port& port = ports_[actor][event.a];
    switch (static_cast<Kind>(event.kind.kind())) {
        case sent:
            probe_.sent(actor, event, engine_.now());
            sent_by(actor, event.a);
            return;
        case received:
            probe_.received(event, engine_.now(), port.receives.front().node);
            received_at(actor, event.a);
            return;
        case processed:
            probe_.processed(event, engine_.now(), port.to_process.front().node);
            processed_at(actor, event.a);
            return;
    }
    fail("an event that the bus does not know");
}

void SharedBus::enqueue(ActorId actor, u32 port, const Request& request) {
    if (has_inner(port)) {
        enqueue(actor, inner_far, inner_request(request, Request::queue_send, false));
        return;
    }
    Port& p = ports_[actor][port];
    p.sends.push_back(request);
    go_on(actor, port);
}

bool SharedBus::yields(ActorId actor, u32 port) {
    Port& p = ports_[actor][port];
    Port& partner = ports_[actor][partner_of(port)];
    if (p.sent_in_a_row <= sends_before_yielding || partner.sends.empty() ||
        partner.sent_in_a_row > sends_before_yielding) {
        return false;
    }
    if (partner.current == Port::idle) {
        go_on(actor, partner_of(port));
    }
    return true;
}

void SharedBus::go_on(ActorId actor, u32 port) {
    Port& p = ports_[actor][port];
    if (p.current == Port::idle && !p.sends.empty() && !yields(actor, port)) {
        start(actor, port);
    }
}

void SharedBus::start(ActorId actor, u32 port) {
    const SharedBusParameters& bus = parameters_;
    Port& p = ports_[actor][port];
    Port& partner = ports_[actor][partner_of(port)];
    const u64 now = engine_.now();
    u64 wait = bus.overhead;
    if (p.previous == Port::sending && !(bus.overhead + (now - p.last) > bus.gap)) {
        wait = bus.gap - (now - p.last);
    }
    const Request request = p.sends.front();
    p.sends.pop_front();
    probe_.starts(actor, port, request.node);
    partner.receives.push_back(request);
    partner.previous = partner.current;
    partner.current = Port::receiving;
    partner.sent_in_a_row = 0;
    const double per_byte = port >= inner_near
                                ? inner_gap_per_byte * static_cast<double>(scale_.ticks_per_ns())
                                : bus.gap_per_byte;
    // For no bytes upstream transfers one fewer, which shortens the latency.
    const i64 least = sizes_of_32_bits_ ? -1 : 0;
    const double transfer = static_cast<double>(std::max(request.bytes - 1, least)) * per_byte;
    const double leaves = static_cast<double>(wait) + transfer;
    const double there = leaves + static_cast<double>(bus.latency) + static_cast<double>(bus.overhead);
    // Upstream would end it before it begins, and aborts.
    schedule(actor, std::max(there, 0.0), received, partner_of(port));
    p.current = Port::sending;
    schedule(actor, std::max(leaves, 0.0), sent, port);
}

void SharedBus::sent_by(ActorId actor, u32 port) {
    Port& p = ports_[actor][port];
    p.last = engine_.now();
    p.previous = p.current;
    p.current = Port::idle;
    ++p.sent_in_a_row;
    go_on(actor, port);
}

void SharedBus::received_at(ActorId actor, u32 port) {
    Port& p = ports_[actor][port];
    p.last = engine_.now();
    p.previous = p.current;
    if (p.receives.size() < 2) {
        p.current = Port::idle;
    }
    Request request = p.receives.front();
    p.receives.pop_front();
    if (request.process) {
        request.process = false;
        if (has_inner(port)) {
            enqueue(actor, inner_near, inner_request(request, Request::queue_processing, true));
        } else {
            p.to_process.push_back(request);
        }
        process(actor, port);
    } else {
        return_or_retire(actor, port, request);
    }
    go_on(actor, port);
}

void SharedBus::return_or_retire(ActorId actor, u32 port, Request request) {
    const bool back = request.back;
    request.back = false;
    if (has_inner(port)) {
        enqueue(actor, inner_near,
                inner_request(request, back ? Request::queue_send : Request::retire_outer, back));
    } else if (back) {
        ports_[actor][port].sends.push_back(request);
    } else {
        retire(actor, request);
    }
}

void SharedBus::process(ActorId actor, u32 port) {
    Port& p = ports_[actor][port];
    if (p.processing || p.to_process.empty()) {
        return;
    }
    p.processing = true;
    const u64 hundreds = static_cast<u64>(p.to_process.front().bytes / 100);
    const u64 ticks = scale_.sum(scale_.times(hundreds, parameters_.reduction_delay),
                                 scale_.whole(processing_overhead));
    engine_.of_ranks.schedule(actor, ticks, {Owner::bus, processed}, port);
}

void SharedBus::processed_at(ActorId actor, u32 port) {
    Port& p = ports_[actor][port];
    p.processing = false;
    const Request request = p.to_process.front();
    p.to_process.pop_front();
    return_or_retire(actor, port, request);
    process(actor, port);
    go_on(actor, port);
}

void SharedBus::retire(ActorId actor, const Request& request) {
    const Request outer = outer_request(request);
    Port& p = ports_[actor][rank_side];
    switch (request.then) {
        case Request::deliver:
            completions_.completed(request.completion);
            return;
        case Request::queue_send:
            p.sends.push_back(outer);
            break;
        case Request::queue_processing:
            p.to_process.push_back(outer);
            process(actor, rank_side);
            break;
        case Request::retire_outer:
            completions_.completed(request.completion);
            break;
    }
    go_on(actor, rank_side);
}

}  // namespace yantra
