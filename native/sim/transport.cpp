// Messages: matching of sends and receives, and rendezvous (astra-sim-semantics 0.3, 5.9).
#include "base/ensure.hpp"
#include "sim/simulation.hpp"
#include "transport/tags.hpp"

namespace yantra {

namespace {

constexpr u64 rendezvous_control_bytes = 8192;

}  // namespace

void Simulation::send(u32 src, u32 dst, u64 bytes, u32 tag, Continuation then) {
    if (!model_.system.rendezvous) {
        send_plain(src, dst, bytes, tag, then);
        return;
    }
    const u32 meeting = rendezvous_.take({carried(bytes), src, dst, tag, then});
    if constexpr (recorded_run) {
        record_rendezvous(meeting);
    }
    receive_plain(src, dst, rendezvous_control_bytes, tag + rendezvous_tag_offset,
                  {Continuation::rendezvous_send, meeting, none});
}

void Simulation::receive(u32 dst, u32 src, u64 bytes, u32 tag, Continuation then) {
    if (!model_.system.rendezvous) {
        receive_plain(dst, src, bytes, tag, then);
        return;
    }
    const u32 meeting = rendezvous_.take({carried(bytes), src, dst, tag, then});
    if constexpr (recorded_run) {
        record_rendezvous(meeting);
    }
    send_plain(dst, src, rendezvous_control_bytes, tag + rendezvous_tag_offset,
               {Continuation::rendezvous_receive, meeting, none});
}

// What upstream's rendezvous remembers of a size, at either end.
u64 Simulation::carried(u64 bytes) const {
    return model_.quirks.sizes_of_32_bits ? u64{static_cast<u32>(bytes)} : bytes;
}

void Simulation::send_plain(u32 src, u32 dst, u64 bytes, u32 tag, Continuation then) {
    send_as({bytes, tag, src, dst}, src, dst, then);
}

void Simulation::receive_plain(u32 dst, u32 src, u64 bytes, u32 tag, Continuation then) {
    receive_as({bytes, tag, src, dst}, then);
}

// Sends under a key that names its ends in whatever way the receive does.
void Simulation::send_as(const MatchKey& key, u32 src, u32 dst, Continuation then) {
    u32 message = messages_.take();
    const u32 partner = matcher_.match(key, Matcher::Side::send, message,
                                       [this](u32 m) -> u32& { return messages_[m].next; });
    if (partner != none) {
        messages_.give_back(message);
        message = partner;
    }
    Message& m = messages_[message];
    m.bytes = key.bytes;
    m.src = src;
    m.dst = dst;
    m.tag = key.tag;
    m.sent = then;
    if (folded_) [[unlikely]] {
        count_alike(folding_->class_of[src]);
    } else {
        ++message_count_;
    }
    if constexpr (recorded_run) {
        record_send(message, partner == none, dst);
    }
    const bool departs = then.kind != Continuation::nobody && !model_.quirks.send_completes_on_arrival;
    network_->send(src, dst, key.bytes, {event::arrival, message},
                   departs ? Notice{event::departed, message} : Notice{});
}

void Simulation::receive_as(const MatchKey& key, Continuation then) {
    u32 message = messages_.take();
    const u32 partner = matcher_.match(key, Matcher::Side::receive, message,
                                       [this](u32 m) -> u32& { return messages_[m].next; });
    if (partner != none) {
        messages_.give_back(message);
        message = partner;
    }
    Message& m = messages_[message];
    m.received = then;
    m.receive_posted = true;
    if constexpr (recorded_run) {
        record_receive(message, partner == none);
    }
    if (m.delivered) {
        queue_.schedule(queue_.now(), event::receive_ready, message);
    }
}

// The last byte is there: the sender hears of it first, then the receiver if it waits.
void Simulation::arrive(u32 message) {
    if constexpr (recorded_run) {
        record_delivery(message);
    }
    const Message m = messages_[message];
    if (m.receive_posted) {
        messages_.give_back(message);
    } else {
        messages_[message].delivered = true;
    }
    if (model_.quirks.send_completes_on_arrival) {
        const Recorder::Scope scope(recorder());
        if constexpr (recorded_run) {
            record_sent_end(message);
        }
        resume(m.sent);
        ties_.next_event();  // of a folded run: this end and that one are of different messages
    }
    if (m.receive_posted) {
        const Recorder::Scope scope(recorder());
        if constexpr (recorded_run) {
            record_received(message);
        }
        resume(m.received);
    }
}

void Simulation::departed(u32 message) { resume(messages_[message].sent); }

void Simulation::receive_late(u32 message) {
    const Continuation received = messages_[message].received;
    messages_.give_back(message);
    resume(received);
}

void Simulation::resume(const Continuation& then) {
    switch (then.kind) {
        case Continuation::nobody:
            return;
        case Continuation::node:
            complete_node(then.a, then.b);
            return;
        case Continuation::exchange_receipt:
            exchange_received(then.a);
            return;
        case Continuation::graph_receipt:
            graph_op_done(then.a, then.b);
            return;
        case Continuation::custom_node:
            custom_node_done(then.a, then.b);
            return;
        case Continuation::rendezvous_send: {
            if constexpr (recorded_run) {
                resume_rendezvous(then.a);
            }
            const Rendezvous r = rendezvous_[then.a];
            rendezvous_.give_back(then.a);
            send_plain(r.src, r.dst, r.bytes, r.tag, r.then);
            return;
        }
        case Continuation::rendezvous_receive: {
            if constexpr (recorded_run) {
                resume_rendezvous(then.a);
            }
            const Rendezvous r = rendezvous_[then.a];
            rendezvous_.give_back(then.a);
            receive_plain(r.dst, r.src, r.bytes, r.tag, r.then);
            return;
        }
    }
    ensure(false, "a continuation of no known kind");
}

}  // namespace yantra
