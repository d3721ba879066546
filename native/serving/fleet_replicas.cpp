// Replicas of a fleet that come, go and fail.
#include "serving/fleet.hpp"

#include <algorithm>
#include <utility>

namespace yantra::serving {

void Fleet::note_idle(u32 replica) {
    Replica& of = replicas_[replica];
    of.idle_since = now_;
    const Scaling& scaling = scaling_[place_of(of.role)];
    if (scaling.is_on() && scaling.idle != end_of_time && of.is_idle()) {
        turns_.push({now_ + scaling.idle, replica, TurnKind::may_go, now_});
    }
}

void Fleet::take_turns() {
    while (!turns_.empty() && turns_.top().time == now_) {
        const Turn turn = turns_.top();
        turns_.pop();
        if (turn.kind == TurnKind::comes) {
            comes(turn.replica);
        } else if (turn.kind == TurnKind::fails) {
            fails(turn.replica);
        } else if (turn.kind == TurnKind::may_go) {
            may_go(turn.replica, turn.since);
        } else {
            make_ready(turn.replica);
        }
    }
}

void Fleet::ask_for_more(Role role) {
    const Scaling& scaling = scaling_[place_of(role)];
    u64 waiting = 0;
    u32 on_the_way = 0;
    u32 next = none;
    for (const Target& target : targets_[place_of(role)]) {
        waiting += target.engine->load().waiting;
    }
    for (u32 at = 0; at < replicas_.size(); ++at) {
        if (replicas_[at].role == role) {
            on_the_way += replicas_[at].is_on_the_way ? 1 : 0;
            const bool is_free = !replicas_[at].is_up && !replicas_[at].is_on_the_way && replicas_[at].presence.until > now_;
            next = is_free && next == none ? at : next;
        }
    }
    if (next != none && scaling.asks_for_more(waiting, static_cast<u32>(targets_[place_of(role)].size()), on_the_way)) {
        replicas_[next].is_on_the_way = true;
        turns_.push({now_ + scaling.delay, next, TurnKind::comes});
    }
}

void Fleet::may_go(u32 replica, Time since) {
    const Replica& of = replicas_[replica];
    const bool may = of.is_up && of.is_idle() && of.idle_since == since;
    if (may && targets_[place_of(of.role)].size() > scaling_[place_of(of.role)].least * of.lanes.size()) {
        goes(replica);
    }
}

void Fleet::comes(u32 replica) {
    Replica& of = replicas_[replica];
    of.is_up = true;
    of.up_since = now_;
    of.is_on_the_way = false;
    for (u32 lane = 0; lane < of.lanes.size(); ++lane) {
        targets_[place_of(of.role)].push_back({TargetId(of.first.index() + lane), of.lanes[lane].engine.get()});
    }
    for (const RequestId request : std::exchange(unsent_, {})) {
        move(request);
    }
    std::deque<Homeless> waiting = std::exchange(homeless_, {});
    for (const Homeless& one : waiting) {
        hand_to(one.request, one.role);
    }
}

void Fleet::goes(u32 replica) {
    Replica& of = replicas_[replica];
    of.is_up = false;
    of.was_up += now_ - of.up_since;
    auto& targets = targets_[place_of(of.role)];
    std::vector<Target> rest;
    for (const Target& target : targets) {
        if (replica_of_[target.id.index()] != replica) {
            rest.push_back(target);
        }
    }
    targets = std::move(rest);
}

void Fleet::fails(u32 replica) {
    Replica& of = replicas_[replica];
    if (!of.is_up) {
        return;
    }
    const u64 over = of.is_busy && of.count > 1 ? of.pace.ended(now_ - of.begin, of.count) : 0;
    if (over > 0) {   // of iterations that are one event
        of.count = over;
        of.end = of.begin + of.pace.total(over);
        end_iteration(replica);
    }
    goes(replica);
    of.is_busy = of.has_ahead = false;
    of.flights.clear();
    ++of.version;
    for (Replica::Lane& lane : of.lanes) {
        lane.batch.clear();
        lane.ahead.clear();
        for (const RequestId request : lane.engine->loses_all(now_)) {
            hand_to(request, of.role);
        }
    }
}

}  // namespace yantra::serving
