// Iterations of a fleet: planned, cut, ended, logged.
#include "serving/fleet.hpp"

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"

namespace yantra::serving {

void Fleet::end_iterations() {
    while (!ends_.empty() && ends_.top().time == now_) {
        const ReplicaEnd next = ends_.top();
        ends_.pop();
        if (const Replica& of = replicas_[next.replica]; next.version != of.version) {
            continue;
        } else if (!of.is_idle()) {
            end_iteration(next.replica);
        } else {
            make_ready(next.replica);   // it wakes
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
    records_.note(of);
    of.is_busy = false;
    ++of.version;
    of.worked += of.end - of.begin;
    of.iterations += of.count;
    for (Replica::Lane& lane : of.lanes) {
        if (!lane.batch.items.empty()) {
            book(of, lane, lane.batch, when);
        }
    }
    if (of.has_ahead && of.count > 1) {
        for (Replica::Lane& lane : of.lanes) {
            lane.ahead.goes_on(static_cast<u32>(of.count - 1));
        }
    }
    make_ready(replica);
    take_finished();
    take_prefilled();
}

void Fleet::book(Replica& of, Replica::Lane& lane, Batch& batch, const Ended& when) {
    ledger_.works(batch.tokens + (when.count - 1) * batch.items.size());
    const Amounts amounts = of.cost->amounts(batch, when.count);
    of.amounts.operations += amounts.operations;
    of.amounts.heavy_ns += amounts.heavy_ns;
    lane.engine->ends(batch, when);
    batch.clear();
}

// Stages take equal shares of its time.
void Fleet::enter(u32 replica) {
    Replica& of = replicas_[replica];
    if (of.flights.size() == of.stages || of.enters > now_) {
        return;   // a batch that leaves, or the first stage, makes it ready again
    }
    if (!fill(of, false)) {
        note_idle(replica);
        records_.sample(now_, replica, of);
        return;
    }
    const Time whole = of.pace_of(1).first;
    const Time stage = whole / of.stages;
    const Time before = of.flights.empty() ? 0 : of.flights.back().end;
    const Time end = std::max(now_ + whole, before + stage);
    of.enters = now_ + stage;
    of.flights.push_back({{}, now_, end});
    for (Replica::Lane& lane : of.lanes) {
        of.flights.back().batches.push_back(std::exchange(lane.batch, {}));
    }
    ends_.push({end, replica, of.version});
    turns_.push({of.enters, replica, TurnKind::may_enter});
    records_.sample(now_, replica, of);
}

void Fleet::leave(u32 replica) {
    Replica& of = replicas_[replica];
    Replica::Flight flight = std::move(of.flights.front());
    of.flights.erase(of.flights.begin());
    const Ended when{flight.begin, flight.end, flight.end, 0, 1};
    of.worked += flight.end - std::max(flight.begin, of.end);
    of.end = flight.end;
    ++of.iterations;
    records_.note(of, flight);
    for (std::size_t at = 0; at < of.lanes.size(); ++at) {
        if (!flight.batches[at].items.empty()) {
            book(of, of.lanes[at], flight.batches[at], when);
        }
    }
    make_ready(replica);
    take_finished();
    take_prefilled();
}

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
    if (!std::exchange(replicas_[replica].is_ready, true)) {
        ready_.push_back(replica);
    }
}

void Fleet::plan_ready() {
    std::sort(ready_.begin(), ready_.end());
    for (const u32 replica : ready_) {
        replicas_[replica].is_ready = false;
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
        batch.again = end_of_time;
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
    const bool ahead = of.lanes.front().engine->traits().plans_ahead;
    if (std::exchange(of.has_ahead, false)) {
        for (Replica::Lane& lane : of.lanes) {
            std::swap(lane.batch, lane.ahead);
        }
    } else if (!fill(of, false)) {
        return sleep(replica);
    }
    of.is_busy = true;
    of.begin = now_;
    records_.sample(now_, replica, of);
    if (ahead) {
        of.has_ahead = fill(of, true);
    }
    of.pace = of.pace_of(options_.singly ? 1 : of.alike(ahead));
    ensure(of.pace.first > 0, "an iteration that takes no time");
    of.count = of.pace.count;
    of.end = now_ + of.pace.total(of.count);
    ends_.push({of.end, replica, ++of.version});
}

void Fleet::sleep(u32 replica) {
    Replica& of = replicas_[replica];
    note_idle(replica);
    records_.sample(now_, replica, of);
    Time wakes = end_of_time;
    for (const Replica::Lane& lane : of.lanes) {
        wakes = std::min(wakes, lane.batch.again);
    }
    if (wakes != end_of_time) {
        ensure(wakes > now_, "an engine that never sleeps");
        ends_.push({wakes, replica, ++of.version});
    }
}

}  // namespace yantra::serving
