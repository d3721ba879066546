// The state of the transport; see engine/state.hpp.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

template <class Visitor>
void visit_completion(Visitor& v, Completion& completion) {
    auto& [kind, a, b] = completion;
    v.must(kind.is_none() || kind.owner() == Owner::execution);
    v.same(kind);
    v.fixed(a);
    if (!kind.is_none()) {
        v.node(ActorId(a), b);
    } else {
        v.fixed(b);
    }
}

template <class Visitor>
void visit_flight(Visitor& v, Transport::State& state, u32 at) {
    if (!v.comes_to_flight(at)) {
        return;
    }
    auto& [waiting, sent, received, receive_posted, delivered, ends_to_come] = state.flights[at];
    v.must(!sent.kind.is_none() || !received.kind.is_none());
    auto& [bytes, tag, src, dst, next, other, side] = waiting;
    v.same(bytes);
    v.tag(tag);
    v.fixed(src);
    v.fixed(dst);
    v.elsewhere(next);
    v.elsewhere(other);
    v.elsewhere(side);
    visit_completion(v, sent);
    visit_completion(v, received);
    v.same(receive_posted);
    v.same(delivered);
    v.same(ends_to_come);
}

// Sorted, as tables have no order of keys; tags last. Waiting receives are left to the comparer.
inline std::vector<std::pair<MatchKey, u32>> sends_in_order(Transport::State& state) {
    std::vector<std::pair<MatchKey, u32>> waiting;
    state.matcher.for_each_message(state.waiting(), [&](u32 at) {
        if (state.flights[at].waiting.side == Matcher::Side::send) {
            waiting.emplace_back(state.flights[at].waiting.key(), at);
        }
    });
    std::stable_sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
        return std::tie(a.first.bytes, a.first.src, a.first.dst, a.first.tag) <
               std::tie(b.first.bytes, b.first.src, b.first.dst, b.first.tag);
    });
    return waiting;
}

template <class Visitor>
void visit_state(Visitor& v, Transport::State& state) {
    auto& [flights, matcher, rendezvous, messages] = state;
    v.elsewhere(flights);
    v.fixed(rendezvous);
    v.count(messages);
    v.elsewhere(matcher);
    const std::vector<std::pair<MatchKey, u32>> waiting = sends_in_order(state);
    v.word(waiting.size());
    for (const auto& [key, at] : waiting) {
        v.word(key.bytes);
        v.word(u64{key.src} << 32U | key.dst);
        visit_flight(v, state, at);
    }
}

}  // namespace yantra
