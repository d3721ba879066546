// Iterations of a fleet: planned, cut where something arrives, ended, logged.
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
        records_.sample(now_, replica, of);
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
    records_.sample(now_, replica, of);
}

void Fleet::leave(u32 replica) {
    Replica& of = replicas_[replica];
    Replica::Flight flight = std::move(of.flights.front());
    of.flights.pop_front();
    const Ended when{flight.begin, flight.end, flight.end, 0, 1};
    of.worked += flight.end - std::max(flight.begin, of.end);
    of.end = flight.end;
    ++of.iterations;
    records_.note(of, flight);
    book(of, of.lanes.front(), flight.batch, when);
    make_ready(replica);
    take_finished();
    take_prefilled();
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
    records_.sample(now_, replica, of);
    if (ahead) {
        of.has_ahead = fill(of, true);
    }
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
