// The loop of a fleet, and who takes what arrives.
#include "serving/fleet.hpp"

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"
#include "base/interruption.hpp"

namespace yantra::serving {

Fleet::Fleet(const Requests& requests, const FleetOptions& options, std::shared_ptr<Stream> stream)
    : requests_(requests), stream_(std::move(stream)), options_(options), ledger_(requests), sequences_(requests.size()),
      pool_(options.pool_blocks), arrivals_(requests, options.most_under_way),
      records_(options.most_logged, options.samples) {}

void Fleet::add(Role role, std::string_view engine, const EngineOptions& given, std::shared_ptr<const Cost> cost,
                u32 lanes, u32 stages, const Presence& presence) {
    const EngineKind* kind = find_engine(engine);
    ensure(kind != nullptr, "an engine that nobody knows");
    const Make make = [&](const Engine::Place& place) { return kind->make(place, given); };
    add(role, make, std::move(cost), lanes, stages, presence);
}

void Fleet::add(Role role, const Make& make, std::shared_ptr<const Cost> cost, u32 lanes, u32 stages,
                const Presence& presence) {
    ensure(lanes > 0, "a replica without engines");
    const auto number = static_cast<u32>(replicas_.size());
    Replica made;
    made.role = role;
    made.stages = stages;
    made.cost = std::move(cost);
    made.presence = presence;
    made.first = TargetId(static_cast<u32>(replica_of_.size()));
    made.is_up = false;
    for (u32 lane = 0; lane < lanes; ++lane) {
        made.lanes.push_back({make({requests_, sequences_, ledger_, pool_, stages}), {}, {}});
        replica_of_.push_back(number);
        ensure(stages == 1 || made.lanes.back().engine->traits().keeps_several, "a pipeline of an engine that has none");
    }
    replicas_.push_back(std::move(made));
    if (presence.from == 0) {
        comes(number);
    } else if (presence.from != end_of_time) {
        turns_.push({presence.from, number, TurnKind::comes});
    }
    if (presence.until != end_of_time) {
        turns_.push({presence.until, number, TurnKind::fails});
    }
}

void Fleet::route(Role role, std::unique_ptr<Routing> routing) { routing_[place_of(role)] = std::move(routing); }

void Fleet::run() {
    for (;;) {
        if (stream_ != nullptr && (stream_->wants() || stream_->is_full())) {
            return;
        }
        const Time time = next_time();
        if (time == end_of_time) {
            break;
        }
        now_ = time;
        look_up();
        end_iterations();
        take_moves();
        take_turns();
        take_arrivals();
        plan_ready();
    }
    for (Replica& of : replicas_) {
        of.was_up += of.is_up ? now_ - of.up_since : 0;
    }
}

Engine& Fleet::engine_of(TargetId target) {
    Replica& of = replicas_[replica_of_[target.index()]];
    return *of.lanes[target.index() - of.first.index()].engine;
}

Time Fleet::next_time() {
    while (!ends_.empty() && ends_.top().version != replicas_[ends_.top().replica].version) {
        ends_.pop();
    }
    Time next = ends_.empty() ? end_of_time : ends_.top().time;
    if (carrier_ != nullptr) {
        next = std::min(next, carrier_->next());
    }
    next = std::min(next, arrivals_.next());
    if (stream_ != nullptr) {
        next = std::min(next, stream_->next());
    }
    const bool is_over = stream_ != nullptr ? stream_->is_over(ledger_.finished()) : ledger_.finished() == requests_.size();
    if (!turns_.empty() && !is_over) {
        next = std::min(next, turns_.top().time);
    }
    return next;
}

void Fleet::take_finished() {
    for (const RequestId request : ledger_.just_finished()) {
        arrivals_.ended(request, now_);
        if (stream_ != nullptr) {
            stream_->ends(request, ledger_.entries()[request]);
        }
    }
    ledger_.just_finished().clear();
}

void Fleet::take_prefilled() {
    for (const RequestId request : ledger_.just_prefilled()) {
        move(request);
    }
    ledger_.just_prefilled().clear();
}

void Fleet::move(RequestId request) {
    if (targets_[place_of(Role::decode)].empty()) {
        unsent_.push_back(request);
        return;
    }
    const TargetId from = ledger_.entries()[request].target;
    const Replica& of = replicas_[replica_of_[from.index()]];
    Move made{request, from, chosen(request, Role::decode),
              u64{sequences_[request].computed} * options_.bytes_per_token};
    if (options_.layers > 1) {   // all but the last have begun to move while it was worked out
        made.least_left = 1.0 / options_.layers;
        made.head_start = (of.end - of.begin) / options_.layers * (options_.layers - 1);
    }
    carrier_->takes(made, now_);
}

void Fleet::take_moves() {
    Move moved;
    while (carrier_ != nullptr && carrier_->gives(now_, moved)) {
        engine_of(moved.from).releases(moved.request);
        make_ready(replica_of_[moved.from.index()]);   // its blocks are free
        cut(replica_of_[moved.from.index()]);
        ledger_.has_moved(moved.request, now_);
        Sequence& of = sequences_[moved.request];
        of.kept = of.computed;
        of.moves = false;
        const bool is_there = replicas_[replica_of_[moved.to.index()]].is_up;
        if (is_there) {
            accept(moved.request, moved.to);
        } else {
            hand_to(moved.request, Role::decode);
        }
    }
}

void Fleet::take_arrivals() {
    arrivals_.come(now_);
    while (stream_ != nullptr && stream_->next() <= now_) {
        const RequestId request = stream_->take();
        if (request.is_none()) {
            return;
        }
        ledger_.begins(request);
        sequences_[request] = {};
        arrivals_.comes(request);
    }
    for (RequestId request = arrivals_.take(); !request.is_none(); request = arrivals_.take()) {
        arrive(request);
    }
}

void Fleet::arrive(RequestId request) {
    const bool has_pools = replicas_.front().role != Role::both;
    sequences_[request].moves = has_pools && requests_.output[request] > 1;
    const Role role = has_pools ? Role::prefill : Role::both;
    hand_to(request, role);
    if (scaling_[place_of(role)].is_on()) {
        ask_for_more(role);
    }
}

void Fleet::hand_to(RequestId request, Role role) {
    if (targets_[place_of(role)].empty()) {
        homeless_.push_back({request, role});
        return;
    }
    accept(request, chosen(request, role));
}

TargetId Fleet::chosen(RequestId request, Role role) {
    const auto& targets = targets_[place_of(role)];
    return targets[routing_[place_of(role)]->choose(request, requests_, {targets.data(), targets.size()})].id;
}

void Fleet::accept(RequestId request, TargetId target) {
    const u32 replica = replica_of_[target.index()];
    cut(replica);
    make_ready(replica);
    ledger_.arrives(request, now_, target);
    engine_of(target).accepts(request, now_);
}

}  // namespace yantra::serving
