#include "network/flow/flow_list.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "network/flow/sharing.hpp"

namespace yantra {

namespace {

constexpr double never_ns = std::numeric_limits<double>::infinity();
using Entry = std::pair<double, u32>;   // when, and which flow

class SharedFlows final : public FlowRun, private FlowLoads {
public:
    SharedFlows(FlowList flows, LinkSpeeds links, bool rtt_fairness,
                std::vector<RateChange> changes, bool keeps_series,
                std::shared_ptr<RouteFinder> finder)
        : FlowRun(std::move(flows), std::move(links), keeps_series),
          changes_(std::move(changes)),
          rtt_fairness_(rtt_fairness),
          finder_(std::move(finder)),
          sharing_(links_.bytes_per_ns) {
        sharing_.note_in(keeps_series ? &series_ : nullptr);
        const std::size_t count = flows_.bytes.size();
        for (std::size_t flow = 0; flow < count; ++flow) {
            const double latency = finder_ ? 0.0 : latency_of(flows_.route(flow));
            comes_ns_.push_back(flows_.start_ns[flow] + latency);
        }
        if (finder_) {
            found_.resize(count);
            under_way_over_.resize(links_.bytes_per_ns.size());
        }
        classes_.reserve(count);
        order_.resize(count);
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(),
                         [this](u32 a, u32 b) { return comes_ns_[a] < comes_ns_[b]; });
    }

    bool run_for(u64 steps) override {
        for (; steps > 0; --steps) {
            look_up();
            const double comes = came_ < order_.size() ? comes_ns_[order_[came_]] : never_ns;
            const double enters = entering_.empty() ? never_ns : entering_.top().first;
            const double changes_ns = changed_ < changes_.size() ? changes_[changed_].at_ns : never_ns;
            const double ends = sharing_.next_end_ns();
            const double next = std::min({comes, enters, changes_ns, ends});
            if (next == never_ns) {
                series_.finish(sharing_.now_ns());
                return true;
            }
            if (ends == next) {
                end();
            } else if (changes_ns == next) {
                sharing_.set_capacity(changes_[changed_].link, changes_[changed_].bytes_per_ns, next);
                ++changed_;
            } else if (comes == next) {
                for (; came_ < order_.size() && comes_ns_[order_[came_]] == next; ++came_) {
                    finder_ ? find(order_[came_]) : enter(order_[came_], next);
                }
            } else {
                for (; !entering_.empty() && entering_.top().first == next; entering_.pop()) {
                    enter(entering_.top().second, next);
                }
            }
        }
        return false;
    }
    u64 solves() const override { return sharing_.rates().solves(); }
    std::span<const u32> route(u32 flow) const override {
        return finder_ && !found_[flow].empty() ? std::span<const u32>(found_[flow]) : flows_.route(flow);
    }

private:
    double load(u32 link) const override { return under_way_over_[link] / links_.bytes_per_ns[link]; }

    void find(u32 flow) {
        finder_->find(flow, *this, found_[flow]);
        under_way(flow, 1.0);
        entering_.push({flows_.start_ns[flow] + latency_of(found_[flow]), flow});
    }

    void under_way(u32 flow, double more) {
        if (finder_) {
            for (u32 link : found_[flow]) {
                under_way_over_[link] += more;
            }
        }
    }

    void enter(u32 flow, double now_ns) {
        const std::span<const u32> links = route(flow);
        if (flows_.bytes[flow] == 0.0 || links.empty()) {
            under_way(flow, -1.0);
            is_through(flow, now_ns);
            return;
        }
        const u32 number = sharing_.start(class_of(links), flows_.bytes[flow], now_ns);
        if (flow_of_.size() <= number) {
            flow_of_.resize(number + std::size_t{1});
        }
        flow_of_[number] = flow;
    }

    void end() {
        through_.clear();
        const double now = sharing_.next_end_ns();
        sharing_.end_next(through_);
        for (u32 number : through_) {
            under_way(flow_of_[number], -1.0);
            is_through(flow_of_[number], now);
        }
    }

    u32 class_of(std::span<const u32> links) {
        u64 hash = links.size();
        for (u32 link : links) {
            hash = mix(hash, link);
        }
        const auto [first, last] = classes_.equal_range(hash);
        for (auto at = first; at != last; ++at) {
            const std::span<const u32> known = sharing_.rates().links_of(at->second);
            if (std::equal(known.begin(), known.end(), links.begin(), links.end())) {
                return at->second;
            }
        }
        const double latency = latency_of(links);
        const double weight = rtt_fairness_ && latency > 0.0 ? 1.0 / (2.0 * latency) : 1.0;
        const u32 made = sharing_.add_class(links, weight);
        classes_.emplace(hash, made);
        return made;
    }

    const std::vector<RateChange> changes_;
    const bool rtt_fairness_;
    const std::shared_ptr<RouteFinder> finder_;   // null: routes are the list's
    FlowSharing sharing_;
    std::vector<double> comes_ns_;       // when a flow enters, or, with a finder, when it starts
    std::vector<u32> order_;
    std::vector<std::vector<u32>> found_;     // routes by flow, once started
    std::vector<double> under_way_over_;   // flows by link
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entering_;
    std::vector<u32> flow_of_;
    std::vector<u32> through_;
    std::unordered_multimap<u64, u32> classes_;
    std::size_t came_ = 0;
    std::size_t changed_ = 0;
};

}  // namespace

std::unique_ptr<FlowRun> share_flows(FlowList flows, LinkSpeeds links, bool rtt_fairness,
                                     std::vector<RateChange> changes, bool keeps_series,
                                     std::shared_ptr<RouteFinder> finder) {
    double before_ns = 0.0;
    for (const RateChange& change : changes) {
        if (!(change.at_ns >= before_ns) || change.link >= links.bytes_per_ns.size() ||
            !(change.bytes_per_ns >= 0.0)) {
            throw std::invalid_argument("flows: changes of links that are there, in order of time, are expected");
        }
        before_ns = change.at_ns;
    }
    return std::make_unique<SharedFlows>(std::move(flows), std::move(links), rtt_fairness, std::move(changes),
                                         keeps_series, std::move(finder));
}

}  // namespace yantra
