#include "transport/transport.hpp"

#include <string>

#include "base/ensure.hpp"
#include "base/unsupported.hpp"
#include "transport/tags.hpp"

namespace yantra {

namespace {

constexpr u64 control_bytes = 8192;   // of a rendezvous

}  // namespace

void Transport::ask_to_send(const Actors::Ends& ends, RankId from, RankId to, u64 bytes, u32 tag,
                            const Completion& then) {
    const u64 kept = carried(bytes, from, to);
    if (kept != bytes) {
        cut_.note(bytes, kept);
    }
    const u32 waiting = state_.rendezvous.take({kept, ends, from, to, tag, then});
    probe_.rendezvous_begins(waiting);
    receive_now({control_bytes, tag + rendezvous_tag_offset, ends.dst, ends.src},
                {{Owner::transport, may_send}, waiting, none});
}

void Transport::offer_to_receive(const Actors::Ends& ends, RankId at, RankId from, u64 bytes, u32 tag,
                                 const Completion& then) {
    if (!parameters_.send_completes_on_arrival) {
        // Else equal messages would swap receives.
        send_now({control_bytes, tag + rendezvous_tag_offset, ends.dst, ends.src}, at, from, {});
        receive_now({carried(bytes, from, at), tag, ends.src, ends.dst}, then);
        return;
    }
    const u32 waiting = state_.rendezvous.take({carried(bytes, from, at), ends, from, at, tag, then});
    probe_.rendezvous_begins(waiting);
    send_now({control_bytes, tag + rendezvous_tag_offset, ends.dst, ends.src}, at, from,
             {{Owner::transport, may_receive}, waiting, none});
}

// A signed 32-bit value.
u64 Transport::carried(u64 bytes, RankId from, RankId to) const {
    const i64 kept = in_32_bits(bytes);
    if (!parameters_.sizes_of_32_bits || static_cast<u64>(kept) == bytes) {
        return bytes;
    }
    if (kept <= 0) {
        throw Unsupported("a message of " + std::to_string(bytes) + " bytes from rank " +
                          std::to_string(from.index()) + " to rank " + std::to_string(to.index()) +
                          " under the rendezvous protocol: in the 32 bits that ASTRA-sim keeps of it, it is " +
                          (kept < 0 ? "negative, and takes centuries there" : "nothing, and ASTRA-sim aborts") +
                          "; send it in parts, or leave out the quirk sizes-of-32-bits");
    }
    return static_cast<u64>(kept);
}

void Transport::handle(const Event& event) {
    const u32 flight = event.index;
    switch (static_cast<Kind>(event.kind.kind())) {
        [[likely]] case arrived:
            probe_.arrived(event, !parameters_.send_completes_on_arrival);
            arrive(flight);
            return;
        case departed: {
            probe_.departed(event);
            const Completion sent = state_.flights[flight].sent;
            ends(flight);
            complete(sent);
            return;
        }
        case receive_ready: {
            probe_.receive_ready(event);
            const Completion received = state_.flights[flight].received;
            ends(flight);
            complete(received);
            return;
        }
    }
    fail("an event that the transport does not know");
}

inline void Transport::ends(u32 flight) {
    if (--state_.flights[flight].ends_to_come == 0) {
        state_.flights.give_back(flight);
    }
}

void Transport::arrive(u32 flight) {
    probe_.delivered(flight);
    Flight& f = state_.flights[flight];
    const bool receive_posted = f.receive_posted;
    const Completion sent = f.sent;   // copies, as completing may post the next message in its place
    const Completion received = f.received;
    if (receive_posted) {
        ends(flight);
    } else {
        f.delivered = true;
    }
    if (parameters_.send_completes_on_arrival) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.send_ends(flight, engine_.now());
        complete(sent);
        if (watcher_ != nullptr) [[unlikely]] {
            watcher_->event_begins();   // this end and the next belong to different messages
        }
    }
    if (receive_posted) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.received(flight, engine_.now());
        complete(received);
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
