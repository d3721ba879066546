// The loop of a fleet; what happens at one instant is in the order of `run`.
#include "serving/fleet.hpp"

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"
#include "base/interruption.hpp"

namespace yantra::serving {

namespace {

constexpr std::size_t most_samples = std::size_t{1} << 16U;

std::size_t place_of(Role role) { return static_cast<std::size_t>(role); }

}  // namespace

Fleet::Fleet(const Requests& requests, const FleetOptions& options)
    : requests_(requests), options_(options), ledger_(requests), sequences_(requests.size()),
      pool_(options.pool_blocks),
      followers_begin_(requests.size() + 1) {
    for (u32 at = 0; at < requests.size(); ++at) {
        const RequestId after = requests.after[RequestId(at)];
        if (after.is_none()) {
            in_order_.push_back(RequestId(at));
        } else {
            ++followers_begin_[after.index() + 1];
        }
    }
    for (std::size_t at = 1; at < followers_begin_.size(); ++at) {
        followers_begin_[at] += followers_begin_[at - 1];
    }
    followers_.resize(followers_begin_.back());
    Vector<u32> next = followers_begin_;
    for (u32 at = 0; at < requests.size(); ++at) {
        if (const RequestId after = requests.after[RequestId(at)]; !after.is_none()) {
            followers_[next[after.index()]++] = RequestId(at);
        }
    }
    std::stable_sort(in_order_.begin(), in_order_.end(),
                     [&](RequestId a, RequestId b) { return requests.arrival[a] < requests.arrival[b]; });
}

void Fleet::add(Role role, std::string_view engine, const EngineOptions& given, std::shared_ptr<const Cost> cost,
                u32 lanes, u32 stages, const Presence& presence) {
    const EngineKind* kind = find_engine(engine);
    ensure(kind != nullptr && lanes > 0, "an engine that nobody knows, or none of them");
    ensure(stages == 1 || lanes == 1, "a pipeline of engines that step together");
    const auto number = static_cast<u32>(replicas_.size());
    Replica made;
    made.role = role;
    made.stages = stages;
    made.cost = std::move(cost);
    made.presence = presence;
    made.first = TargetId(static_cast<u32>(replica_of_.size()));
    made.is_up = false;
    for (u32 lane = 0; lane < lanes; ++lane) {
        made.lanes.push_back({kind->make({requests_, sequences_, ledger_, pool_}, given), {}, {}});
        replica_of_.push_back(number);
        ensure(stages == 1 || made.lanes.back().engine->keeps_several(), "a pipeline of an engine that has none");
    }
    replicas_.push_back(std::move(made));
    is_ready_.push_back(0);
    has_pools_ = has_pools_ || role != Role::both;
    on_the_way_.push_back(0);
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
    for (Time time = next_time(); time != end_of_time; time = next_time()) {
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

u64 Fleet::evicted() const {
    u64 all = 0;
    for (const Replica& replica : replicas_) {
        for (const Replica::Lane& lane : replica.lanes) {
            all += lane.engine->evicted();
        }
    }
    return all;
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
    if (next_arrival_ < in_order_.size()) {
        next = std::min(next, requests_.arrival[in_order_[next_arrival_]]);
    }
    if (!later_.empty()) {
        next = std::min(next, later_.top().time);
    }
    if (!turns_.empty() && ledger_.finished() < requests_.size()) {
        next = std::min(next, turns_.top().time);
    }
    return next;
}

void Fleet::end_iterations() {
    while (!ends_.empty() && ends_.top().time == now_) {
        const ReplicaEnd next = ends_.top();
        ends_.pop();
        if (next.version == replicas_[next.replica].version) {
            end_iteration(next.replica);
        }
    }
}

void Fleet::end_iteration(u32 replica) {
    Replica& of = replicas_[replica];
    if (of.stages > 1) {
        leave(replica);
        return;
    }
    const Ended when{of.begin, of.begin + of.pace.first, of.end, of.pace.growth, of.count};
    if (log_.size() < options_.most_logged) {
        note_log(of);
    }
    of.is_busy = false;
    ++of.version;
    of.worked += of.end - of.begin;
    of.iterations += of.count;
    for (Replica::Lane& lane : of.lanes) {
        if (!lane.batch.items.empty()) {
            book(of, lane, lane.batch, when);
        }
    }
    make_ready(replica);
    take_finished();
    take_prefilled();
}

void Fleet::book(Replica& of, Replica::Lane& lane, Batch& batch, const Ended& when) {
    ledger_.works(batch.tokens + (when.count - 1) * batch.items.size());
    const Amounts amounts = of.cost->amounts(batch, when.count);
    of.amounts.flops += amounts.flops;
    of.amounts.bytes += amounts.bytes;
    lane.engine->ends(batch, when);
    batch.clear();
}

// A batch takes each stage after the one before it; stages take equal shares of its time.
void Fleet::enter(u32 replica) {
    Replica& of = replicas_[replica];
    Replica::Lane& lane = of.lanes.front();
    if (of.flights.size() == of.stages || of.enters > now_) {
        return;   // a batch that leaves, or the first stage, makes it ready again
    }
    lane.engine->plans(now_, lane.batch);
    if (lane.batch.items.empty()) {
        note_idle(replica);
        return;
    }
    const Time whole = std::max(of.cost->pace(lane.batch, 1).first, lane.batch.reading);
    const Time stage = whole / of.stages;
    const Time before = of.flights.empty() ? 0 : of.flights.back().end;
    const Time end = std::max(now_ + whole, before + stage);
    of.enters = now_ + stage;
    of.flights.push_back({std::move(lane.batch), now_, end});
    lane.batch = {};
    ends_.push({end, replica, of.version});
    turns_.push({of.enters, replica, TurnKind::may_enter});
    if (options_.samples && --until_sample_ == 0) {
        note_sample(replica);
    }
}

void Fleet::leave(u32 replica) {
    Replica& of = replicas_[replica];
    Replica::Flight flight = std::move(of.flights.front());
    of.flights.pop_front();
    const Ended when{flight.begin, flight.end, flight.end, 0, 1};
    of.worked += flight.end - std::max(flight.begin, of.end);
    of.end = flight.end;
    ++of.iterations;
    if (log_.size() < options_.most_logged) {
        log_.push_back({flight.begin, flight.end, of.first, static_cast<u32>(logged_items_.size()),
                        static_cast<u32>(flight.batch.items.size())});
        logged_items_.insert(logged_items_.end(), flight.batch.items.begin(), flight.batch.items.end());
    }
    book(of, of.lanes.front(), flight.batch, when);
    make_ready(replica);
    take_finished();
    take_prefilled();
}

void Fleet::note_idle(u32 replica) {
    Replica& of = replicas_[replica];
    of.idle_since = now_;
    const Scaling& scaling = scaling_[place_of(of.role)];
    if (scaling.is_on() && scaling.idle != end_of_time && is_idle(of)) {
        turns_.push({now_ + scaling.idle, replica, TurnKind::may_go, now_});
    }
}

void Fleet::take_finished() {
    for (const RequestId request : ledger_.just_finished()) {
        --under_way_;
        for (u32 at = followers_begin_[request.index()]; at < followers_begin_[request.index() + 1]; ++at) {
            const RequestId next = followers_[at];
            later_.push({std::max(requests_.arrival[next], now_ + requests_.delay[next]), next});
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
            on_the_way += on_the_way_[at];
            const bool is_free = !replicas_[at].is_up && on_the_way_[at] == 0 && replicas_[at].presence.until > now_;
            next = is_free && next == none ? at : next;
        }
    }
    if (next != none && scaling.asks_for_more(waiting, standing(role), on_the_way)) {
        on_the_way_[next] = 1;
        turns_.push({now_ + scaling.delay, next, TurnKind::comes});
    }
}

void Fleet::may_go(u32 replica, Time since) {
    const Replica& of = replicas_[replica];
    const bool may = of.is_up && is_idle(of) && of.idle_since == since;
    if (may && standing(of.role) > scaling_[place_of(of.role)].least * of.lanes.size()) {
        goes(replica);
    }
}

void Fleet::comes(u32 replica) {
    Replica& of = replicas_[replica];
    of.is_up = true;
    of.up_since = now_;
    on_the_way_[replica] = 0;
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
    Vector<Target> rest;
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

RequestId Fleet::next_arrival() {
    const bool has_own = next_arrival_ < in_order_.size() && requests_.arrival[in_order_[next_arrival_]] <= now_;
    const bool has_later = !later_.empty() && later_.top().time <= now_;
    if (has_own && (!has_later || Arrival{requests_.arrival[in_order_[next_arrival_]], in_order_[next_arrival_]} <
                                      later_.top())) {
        return in_order_[next_arrival_++];
    }
    if (has_later) {
        const RequestId request = later_.top().request;
        later_.pop();
        return request;
    }
    return RequestId::none;
}

void Fleet::take_arrivals() {
    const u64 most = options_.most_under_way == 0 ? ~u64{0} : options_.most_under_way;
    for (RequestId request = next_arrival(); !request.is_none(); request = next_arrival()) {
        outside_.push_back(request);
    }
    while (!outside_.empty() && under_way_ < most) {
        arrive(outside_.front());
        outside_.pop_front();
    }
}

void Fleet::arrive(RequestId request) {
    ++under_way_;
    sequences_[request].moves = has_pools_ && requests_.output[request] > 1;
    hand_to(request, role_of_prompts());
    if (scaling_[place_of(role_of_prompts())].is_on()) {
        ask_for_more(role_of_prompts());
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

// Iterations that are alike end with the one that is under way now.
void Fleet::cut(u32 replica) {
    Replica& of = replicas_[replica];
    if (!of.is_busy || of.count == 1) {
        return;
    }
    const u64 count = of.pace.reaching(now_ - of.begin, of.count);
    if (count == of.count) {
        return;
    }
    of.count = count;
    of.end = of.begin + of.pace.total(count);
    if (of.end == now_) {
        end_iteration(replica);
        return;
    }
    ends_.push({of.end, replica, ++of.version});
}

void Fleet::make_ready(u32 replica) {
    if (is_ready_[replica] == 0) {
        is_ready_[replica] = 1;
        ready_.push_back(replica);
    }
}

void Fleet::plan_ready() {
    std::sort(ready_.begin(), ready_.end());
    for (const u32 replica : ready_) {
        is_ready_[replica] = 0;
        if (const Replica& of = replicas_[replica]; of.is_up && !of.is_busy) {
            start(replica);
        }
    }
    ready_.clear();
}

bool Fleet::fill(Replica& of, bool ahead) {
    bool is_any = false;
    for (Replica::Lane& lane : of.lanes) {
        Batch& batch = ahead ? lane.ahead : lane.batch;
        lane.engine->plans(now_, batch);
        is_any = is_any || !batch.items.empty();
    }
    return is_any;
}

void Fleet::start(u32 replica) {
    Replica& of = replicas_[replica];
    if (of.stages > 1) {
        enter(replica);
        return;
    }
    const bool ahead = of.lanes.front().engine->plans_ahead();
    if (std::exchange(of.has_ahead, false)) {
        for (Replica::Lane& lane : of.lanes) {
            std::swap(lane.batch, lane.ahead);
        }
    } else if (!fill(of, false)) {
        note_idle(replica);
        return;
    }
    of.pace = {};
    for (Replica::Lane& lane : of.lanes) {
        if (!lane.batch.items.empty()) {
            const u64 alike = ahead || of.lanes.size() > 1 ? 1 : lane.engine->alike(lane.batch);
            Pace pace = of.cost->pace(lane.batch, alike);
            pace.count = std::min(pace.count, alike);
            pace.first = std::max(pace.first, lane.batch.reading);
            if (pace.first > of.pace.first) {
                of.pace = pace;
            }
        }
    }
    ensure(of.pace.first > 0, "an iteration that takes no time");
    of.is_busy = true;
    of.begin = now_;
    of.count = of.pace.count;
    of.end = now_ + of.pace.total(of.count);
    ends_.push({of.end, replica, ++of.version});
    if (options_.samples && --until_sample_ == 0) {
        note_sample(replica);
    }
    if (ahead) {
        of.has_ahead = fill(of, true);
    }
}

void Fleet::note_log(const Replica& of) {
    for (u64 at = 0; at < of.count && log_.size() < options_.most_logged; ++at) {
        const Time begin = at == 0 ? of.begin : of.begin + of.pace.total(at);
        for (u32 lane = 0; lane < of.lanes.size(); ++lane) {
            const Batch& batch = of.lanes[lane].batch;
            if (batch.items.empty()) {
                continue;
            }
            log_.push_back({begin, of.begin + of.pace.total(at + 1), TargetId(of.first.index() + lane),
                            static_cast<u32>(logged_items_.size()), static_cast<u32>(batch.items.size())});
            for (Item item : batch.items) {
                item.context += static_cast<u32>(at);
                logged_items_.push_back(item);
            }
        }
    }
}

void Fleet::note_sample(u32 replica) {
    Sample sample{now_, replica, 0, 0, 0, 0};
    for (const Replica::Lane& lane : replicas_[replica].lanes) {
        const Load load = lane.engine->load();
        sample.waiting += static_cast<u32>(load.waiting);
        sample.running += static_cast<u32>(load.running);
        sample.kv_tokens += load.tokens;
        sample.batch_tokens += lane.batch.tokens;
    }
    samples_.push_back(sample);
    if (samples_.size() == most_samples) {   // every second goes, and from now on half as many come
        for (std::size_t at = 0; 2 * at < samples_.size(); ++at) {
            samples_[at] = samples_[2 * at];
        }
        samples_.resize(most_samples / 2);
        sample_every_ *= 2;
    }
    until_sample_ = sample_every_;
}

}  // namespace yantra::serving
