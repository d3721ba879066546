// When links fail, return or change rate: a message on a failed link stops; once the failure is
// known, all take another way, if any, and the stopped one is sent again whole.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/unsupported.hpp"
#include "network/fabric_queues.hpp"

namespace yantra {

void FabricQueues::change_links() {
    changes_.apply(under_way_ == 0, [this](u32 link, double rate) { set_rate(link, rate); });
}

void FabricQueues::set_rate(u32 link, double bytes_per_ns) {
    Queue& of = queues_[link];
    const bool was_down = rates_[link] == 0.0;
    stop(link);
    rates_[link] = bytes_per_ns;
    if (bytes_per_ns == 0.0) {
        if (of.stopped != none) {
            wait(crossings_[of.stopped].transit);
        }
        for (u32 transit : of.waiting) {
            wait(transit);
        }
        return;
    }
    if (was_down) {
        for (u32 transit : of.waiting) {
            wait_no_more(transit);
        }
    }
    if (of.stopped != none) {
        const Crossing stopped = crossings_[of.stopped];
        crossings_.give_back(std::exchange(of.stopped, none));
        wait_no_more(stopped.transit);
        cross(stopped);
    } else if (!of.busy) {
        free_link(link);
    }
}

void FabricQueues::cross(const Crossing& crossing) {
    const u32 number = crossings_.take(crossing);
    Crossing& of = crossings_[number];
    const double crossing_ns = of.left / rates_[of.link];
    of.since = queue_.now();
    of.ends = of.since + scale_.ticks(crossing_ns);
    of.events = 2;
    of.is_void = false;
    queues_[of.link].crossing = number;
    use_[of.link].busy_ticks += of.ends - of.since;
    queue_.schedule(of.since + scale_.ticks(ways_.latency_ns(of.link) + crossing_ns), {Owner::network, crossed}, number);
    queue_.schedule(of.ends, {Owner::network, freed}, number);
}

void FabricQueues::stop(u32 link) {
    Queue& of = queues_[link];
    const u64 now = queue_.now();
    if (of.crossing == none || crossings_[of.crossing].ends <= now) {
        return;
    }
    Crossing& crossing = crossings_[of.crossing];
    crossing.is_void = true;
    use_[link].busy_ticks -= crossing.ends - now;
    Crossing stopped = crossing;
    const double passed_ns = static_cast<double>(now - crossing.since) / static_cast<double>(scale_.ticks_per_ns());
    stopped.left = std::max(crossing.left - passed_ns * rates_[link], 0.0);
    const u64 through = crossing.left_bytes - std::min(crossing.left_bytes, static_cast<u64>(std::llround(stopped.left)));
    if (now > crossing.since) {
        probe_.carried(crossing.transit, link, crossing.since, now, through);
    }
    stopped.left_bytes = crossing.left_bytes - through;
    of.crossing = none;
    of.stopped = crossings_.take(stopped);
}

void FabricQueues::is_through(u32 number) {
    const Crossing crossing = crossings_[number];
    if (!crossing.is_void) {
        probe_.carried(crossing.transit, crossing.link, crossing.since, crossing.ends, crossing.left_bytes);
        offer(crossing.transit);
    }
    end_event(number);
}

void FabricQueues::end_event(u32 number) {
    Crossing& crossing = crossings_[number];
    if (!crossing.is_void && !crossing.departed.kind.is_none()) {
        probe_.arrives(crossing.transit);   // caused by the sender
        queue_.schedule(queue_.now(), std::exchange(crossing.departed, Notice{}));
        probe_.arrival_scheduled();
    }
    if (--crossing.events == 0) {
        crossings_.give_back(number);
    }
}

void FabricQueues::wait(u32 number) {
    Transit& transit = transits_[number];
    if (transit.waits_since != never) {
        return;
    }
    transit.waits_since = queue_.now();
    disturbance_.waited += transit.has_waited ? 0 : 1;
    transit.has_waited = true;
}

void FabricQueues::wait_no_more(u32 number) {
    Transit& transit = transits_[number];
    if (transit.waits_since != never) {
        disturbance_.waited_ticks += queue_.now() - std::exchange(transit.waits_since, never);
    }
}

void FabricQueues::reroute() {
    changes_.becomes_known();
    ways_.avoid(changes_.avoided());
    std::vector<u32> moved;
    for (u32 link = 0; link < queues_.size(); ++link) {
        Queue& of = queues_[link];
        if (!changes_.is_avoided(LinkId(link)) || (of.stopped == none && of.waiting.empty())) {
            continue;
        }
        if (of.stopped != none) {
            const Crossing& stopped = crossings_[of.stopped];
            Transit& transit = transits_[stopped.transit];
            --transit.hop;
            if (take_another_way(stopped.transit)) {
                transit.departed = stopped.departed;
                use_[link].bytes -= stopped.left_bytes;
                moved.push_back(stopped.transit);
                crossings_.give_back(std::exchange(of.stopped, none));
                of.busy = false;
            } else {
                ++transit.hop;
            }
        }
        std::deque<u32> stay;
        for (u32 transit : std::exchange(of.waiting, {})) {
            if (take_another_way(transit)) {
                of.waiting_bytes -= transits_[transit].bytes;
                moved.push_back(transit);
            } else {
                stay.push_back(transit);
            }
        }
        of.waiting = std::move(stay);
    }
    for (u32 transit : moved) {
        offer(transit);
    }
}

bool FabricQueues::take_another_way(u32 number) {
    Transit& transit = transits_[number];
    const u32 at = ways_.start_of(transit.path[transit.hop]);
    try {
        ways_.route(at, transit.to, transit.packet, this, path_);
    } catch (const Unsupported&) {
        return false;
    }
    if (path_.empty() || changes_.crosses_avoided(path_)) {
        return false;
    }
    transit.path = path_;
    transit.hop = 0;
    wait_no_more(number);
    disturbance_.rerouted += transit.was_rerouted ? 0 : 1;
    transit.was_rerouted = true;
    return true;
}

}  // namespace yantra
