#include "collective/synthesis/flow_network.hpp"

#include <algorithm>
#include <vector>

#include "base/interruption.hpp"

namespace yantra::synthesis {

u32 FlowNetwork::add(u32 start, u32 end, Amount capacity) {
    const auto arc = static_cast<u32>(end_.size());
    end_.push_back(end);
    end_.push_back(start);
    capacity_.push_back(capacity);
    capacity_.push_back(0);
    leaving_[start].push_back(arc);
    leaving_[end].push_back(arc + 1);
    return arc;
}

Amount FlowNetwork::flow(u32 source, u32 sink, Amount enough) {
    free_ = capacity_;
    Amount flow = 0;
    while (flow < enough && climb(source, sink)) {
        look_up();
        std::fill(begun_.begin(), begun_.end(), 0);
        while (flow < enough) {
            const Amount more = push(source, sink, enough - flow);
            if (more == 0) {
                break;
            }
            flow += more;
        }
    }
    return flow;
}

std::vector<u8> FlowNetwork::side() const {
    std::vector<u8> inside(level_.size());
    std::transform(level_.begin(), level_.end(), inside.begin(), [](u32 level) { return level != none; });
    return inside;
}

bool FlowNetwork::climb(u32 source, u32 sink) {
    std::fill(level_.begin(), level_.end(), none);
    level_[source] = 0;
    waiting_.assign(1, source);
    for (std::size_t next = 0; next < waiting_.size(); ++next) {
        const u32 at = waiting_[next];
        for (const u32 arc : leaving_[at]) {
            const u32 end = end_[arc];
            if (level_[end] == none && free_[arc] > 0) {
                level_[end] = level_[at] + 1;
                if (end == sink) {
                    return true;
                }
                waiting_.push_back(end);
            }
        }
    }
    return false;
}

// Returns 0 if none is left.
Amount FlowNetwork::push(u32 source, u32 sink, Amount most) {
    way_.clear();
    u32 at = source;
    while (at != sink) {
        if (begun_[at] == leaving_[at].size()) {
            if (way_.empty()) {
                return 0;
            }
            at = end_[way_.back() ^ 1U];
            way_.pop_back();
            ++begun_[at];
            continue;
        }
        const u32 arc = leaving_[at][begun_[at]];
        const u32 end = end_[arc];
        if (free_[arc] > 0 && level_[end] == level_[at] + 1) {
            way_.push_back(arc);
            at = end;
        } else {
            ++begun_[at];
        }
    }
    Amount more = most;
    for (const u32 arc : way_) {
        more = std::min(more, free_[arc]);
    }
    for (const u32 arc : way_) {
        free_[arc] -= more;
        free_[arc ^ 1U] += more;
    }
    return more;
}

}  // namespace yantra::synthesis
