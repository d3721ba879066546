#include "transport/transport.hpp"

#include "base/ensure.hpp"
#include "transport/tags.hpp"

namespace yantra {

namespace {

constexpr u64 control_bytes = 8192;   // of a rendezvous

}  // namespace

void Transport::send(const Actors::Ends& ends, RankId from, RankId to, u64 bytes, u32 tag,
                     Completion then) {
    if (!parameters_.rendezvous) {
        send_now({bytes, tag, ends.src, ends.dst}, from, to, then);
        return;
    }
    const u32 waiting = state_.rendezvous.take({carried(bytes), ends, from, to, tag, then});
    probe_.rendezvous_begins(waiting);
    receive_now({control_bytes, tag + rendezvous_tag_offset, ends.dst, ends.src},
                {{Owner::transport, may_send}, waiting, none});
}

void Transport::receive(const Actors::Ends& ends, RankId at, RankId from, u64 bytes, u32 tag,
                        Completion then) {
    if (!parameters_.rendezvous) {
        receive_now({bytes, tag, ends.src, ends.dst}, then);
        return;
    }
    const u32 waiting = state_.rendezvous.take({carried(bytes), ends, from, at, tag, then});
    probe_.rendezvous_begins(waiting);
    send_now({control_bytes, tag + rendezvous_tag_offset, ends.dst, ends.src}, at, from,
             {{Owner::transport, may_receive}, waiting, none});
}

// What upstream's rendezvous remembers of a size, at either end.
u64 Transport::carried(u64 bytes) const {
    return parameters_.sizes_of_32_bits ? u64{static_cast<u32>(bytes)} : bytes;
}

// The flight of a half: that of the other half if it waits, else a fresh one that waits now.
u32 Transport::meet(const MatchKey& key, Matcher::Side side, bool& fresh) {
    const auto waiting = state_.waiting();
    const Matcher::Place place = state_.matcher.find(key, waiting);
    const u32 partner = state_.matcher.take(place, side, waiting);
    fresh = partner == none;
    if (!fresh) {
        return partner;
    }
    const u32 flight = state_.flights.take();
    state_.matcher.wait(place, key, side, flight, waiting);
    return flight;
}

void Transport::send_now(const MatchKey& key, RankId from, RankId to, Completion then) {
    bool fresh = false;
    const u32 flight = meet(key, Matcher::Side::send, fresh);
    Flight& f = state_.flights[flight];
    f.sent = then;
    if (!fresh) {
        completions_.begins(f.received);
    }
    const u64 ranks = actors_.ranks_of(actors_.of(from));
    state_.messages += ranks;
    probe_.sent(flight, fresh, key.bytes, to, key.tag);
    const bool departs = !then.kind.is_none() && !parameters_.send_completes_on_arrival;
    network_.send({from, to, key.bytes, ranks}, {{Owner::transport, arrived}, flight},
                  departs ? Notice{{Owner::transport, departed}, flight} : Notice{});
}

void Transport::receive_now(const MatchKey& key, Completion then) {
    bool fresh = false;
    const u32 flight = meet(key, Matcher::Side::receive, fresh);
    Flight& f = state_.flights[flight];
    f.received = then;
    f.receive_posted = true;
    probe_.posted(flight, fresh);
    if (f.delivered) {
        engine_.queue.schedule(engine_.now(), {Owner::transport, receive_ready}, flight);
    }
}

void Transport::handle(const Event& event) {
    const u32 flight = event.index;
    switch (static_cast<Kind>(event.kind.kind())) {
        case arrived:
            probe_.arrived(event, !parameters_.send_completes_on_arrival);
            arrive(flight);
            return;
        case departed:
            probe_.departed(event);
            complete(state_.flights[flight].sent);
            return;
        case receive_ready: {
            probe_.receive_ready(event);
            const Completion received = state_.flights[flight].received;
            state_.flights.give_back(flight);
            complete(received);
            return;
        }
    }
    fail("an event that the transport does not know");
}

// The last byte is there: the sender hears of it first, then the receiver if it waits.
void Transport::arrive(u32 flight) {
    probe_.delivered(flight);
    const Flight f = state_.flights[flight];
    if (f.receive_posted) {
        state_.flights.give_back(flight);
    } else {
        state_.flights[flight].delivered = true;
    }
    if (parameters_.send_completes_on_arrival) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.send_ends(flight, engine_.now());
        complete(f.sent);
        if (watcher_ != nullptr) [[unlikely]] {
            watcher_->event_begins();   // this end and the next are of different messages
        }
    }
    if (f.receive_posted) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.received(flight, engine_.now());
        complete(f.received);
    }
}

const Transport::Rendezvous* Transport::send_behind(const Completion& completion) const {
    const bool waits = completion.kind == EventKind(Owner::transport, may_send);
    return waits ? &state_.rendezvous[completion.a] : nullptr;
}

void Transport::complete(const Completion& then) {
    if (then.kind.is_none()) {
        return;
    }
    if (then.kind.owner() != Owner::transport) {
        completions_.completed(then);
        return;
    }
    probe_.rendezvous_goes_on(then.a);
    const Rendezvous r = state_.rendezvous[then.a];
    state_.rendezvous.give_back(then.a);
    const MatchKey key{r.bytes, r.tag, r.ends.src, r.ends.dst};
    if (then.kind.kind() == may_send) {
        completions_.begins(r.then);
        send_now(key, r.src, r.dst, r.then);
    } else {
        receive_now(key, r.then);
    }
}

}  // namespace yantra
