#include "network/flow/queued_list.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/interruption.hpp"

namespace yantra {

namespace {

class QueuedFlows final : public FlowRun {
public:
    QueuedFlows(FlowList flows, LinkSpeeds links, bool keeps_series)
        : FlowRun(std::move(flows), std::move(links), keeps_series),
          hop_(flows_.bytes.size()),
          order_(flows_.bytes.size()),
          queues_(links_.bytes_per_ns.size()) {
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(),
                         [this](u32 a, u32 b) { return flows_.start_ns[a] < flows_.start_ns[b]; });
    }

    // A step is an event.
    bool run_for(u64 steps) override {
        for (; steps > 0; --steps) {
            look_up();
            const bool starts = begun_ < order_.size();
            const u64 start = starts ? scale_.ticks(flows_.start_ns[order_[begun_]]) : 0;
            if (starts && (events_.empty() || start <= events_.top().tick)) {
                now_ = start;
                offer(order_[begun_++]);
            } else if (!events_.empty()) {
                const Event event = events_.top();
                events_.pop();
                now_ = event.tick;
                event.frees ? free_link(event.index) : offer(event.index);
            } else {
                series_.finish(now_ns());
                return true;
            }
        }
        return false;
    }

private:
    struct Event {
        u64 tick;
        u64 order;
        u32 index;      // a flow that arrived, or a link that is free
        bool frees;
        bool operator<(const Event& other) const {   // the first is the greatest
            return std::tie(tick, order) > std::tie(other.tick, other.order);
        }
    };
    struct Queue {
        std::deque<u32> waiting;
        bool is_busy = false;
    };

    double now_ns() const { return static_cast<double>(now_) / static_cast<double>(scale_.ticks_per_ns()); }
    void schedule(u64 tick, u32 index, bool frees) { events_.push({tick, scheduled_++, index, frees}); }

    void offer(u32 flow) {
        const std::span<const u32> route = flows_.route(flow);
        if (hop_[flow] == route.size()) {
            is_through(flow, now_ns());
            return;
        }
        const u32 link = route[hop_[flow]];
        if (queues_[link].is_busy) {
            queues_[link].waiting.push_back(flow);
        } else {
            transmit(link, flow);
        }
    }

    void transmit(u32 link, u32 flow) {
        const double crossing_ns = flows_.bytes[flow] / links_.bytes_per_ns[link];
        queues_[link].is_busy = true;
        ++hop_[flow];
        schedule(now_ + scale_.ticks(links_.latency_ns[link] + crossing_ns), flow, false);
        schedule(now_ + scale_.ticks(crossing_ns), link, true);
        if (!series_.is_empty()) {
            series_.set(link, now_ns(), links_.bytes_per_ns[link]);
        }
    }

    void free_link(u32 link) {
        Queue& of = queues_[link];
        of.is_busy = false;
        if (!series_.is_empty()) {
            series_.set(link, now_ns(), 0.0);
        }
        if (!of.waiting.empty()) {
            const u32 flow = of.waiting.front();
            of.waiting.pop_front();
            transmit(link, flow);
        }
    }

    const TimeScale scale_ = TimeScale::picoseconds();
    std::vector<u32> hop_;         // by flow: links behind it
    std::vector<u32> order_;       // flows, by start
    std::size_t begun_ = 0;
    std::vector<Queue> queues_;    // by link
    std::priority_queue<Event> events_;
    u64 scheduled_ = 0;
    u64 now_ = 0;
};

}  // namespace

std::unique_ptr<FlowRun> queue_flows(FlowList flows, LinkSpeeds links, bool keeps_series) {
    return std::make_unique<QueuedFlows>(std::move(flows), std::move(links), keeps_series);
}

}  // namespace yantra
