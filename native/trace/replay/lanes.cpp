#include "trace/replay/lanes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/interruption.hpp"

namespace yantra::replay {

namespace {

constexpr std::int64_t truncation_ns = 1000;
constexpr std::int64_t first_key = -2;

bool fits(std::int64_t outer_end, std::int64_t end) {
    return end <= outer_end + (outer_end % 1000 != 0 ? 0 : truncation_ns);
}

}  // namespace

class ThreadCutter {
public:
    ThreadCutter(Lanes& lanes, std::int64_t tid, const std::vector<Point>& points, std::vector<bool>& begun)
        : lanes_(lanes), place_(lanes.places.of(-1, tid)), points_(points), begun_(begun) {}

    std::vector<std::uint32_t> run(const std::vector<std::uint32_t>& operators) {
        const Operators& all = lanes_.of.operators;
        for (const std::uint32_t one : operators) {
            take_points([&](const Point& point) {
                return point.time > all.start[one] || (point.time == all.start[one] && !has_begun(point.owner));
            });
            begin(one, all.start[one], all.start[one] + all.dur[one]);
        }
        take_points([](const Point&) { return false; });
        while (!stack_.empty()) {
            pop(stack_.back().end);
        }
        for (const std::uint32_t one : operators) {
            begun_[one] = false;
        }
        return std::move(made_);
    }

private:
    struct Open {
        std::uint32_t operation;
        std::int64_t end;
        std::uint32_t name;
    };

    bool has_begun(std::uint32_t owner) const { return owner == none || (owner != missing && begun_[owner]); }

    void begin(std::uint32_t one, std::int64_t start, std::int64_t end) {
        end_until(start);
        while (!stack_.empty() && !fits(stack_.back().end, end)) {
            pop(start);
        }
        flush(start);
        if (!stack_.empty()) {
            end = std::min(end, stack_.back().end);
        } else {
            now_ = std::max(now_, start);
        }
        stack_.push_back({one, end, lanes_.of.operators.name[one]});
        begun_[one] = true;
    }

    template <class IsLater>
    void take_points(IsLater is_later) {
        while (next_ < points_.size() && !is_later(points_[next_])) {
            take(points_[next_++]);
        }
    }

    void take(const Point& point) {
        end_until(point.time);
        if (point.kind == Point::call) {
            if (stack_.empty()) {
                now_ = std::max(now_, point.time);
                stack_.push_back({none, point.key, point.name});
            }
            return;
        }
        flush(point.time);
        if (point.kind == Point::wait) {
            wait(static_cast<std::uint32_t>(point.key));
        } else if (point.op != none) {
            lanes_.launched[point.op] = last_made();
        } else {
            const auto cut = static_cast<std::size_t>(first_key - point.key);
            if (const std::uint32_t crossing = lanes_.crossing_of_[cut]; crossing != none) {
                lanes_.crossings[crossing].after = last_made();
            }
        }
    }

    std::uint32_t last_made() const { return made_.empty() ? none : made_.back(); }

    void wait(std::uint32_t one) {
        const Waits& waits = lanes_.of.waits;
        std::int64_t awaited = lanes_.of.ops.end(waits.awaited(one)[0]);
        for (const std::uint32_t op : waits.awaited(one)) {
            awaited = std::max(awaited, lanes_.of.ops.end(op));
        }
        const std::int64_t start = std::min(std::max({now_, waits.start[one], awaited}), waits.end(one));
        now_ = std::max(now_, waits.end(one));
        lanes_.wait_drafts[one] = make(Kind::wait, one, waits.name[one], start, now_);
    }

    void end_until(std::int64_t time) {
        while (!stack_.empty() && stack_.back().end <= time) {
            pop(stack_.back().end);
        }
    }

    void pop(std::int64_t time) {
        flush(time);
        const std::uint32_t operation = stack_.back().operation;
        stack_.pop_back();
        if (operation != none) {
            lanes_.last[operation] = made_.back();
        }
    }

    void flush(std::int64_t time) {
        if (stack_.empty()) {
            return;
        }
        const Open& open = stack_.back();
        time = std::max(time, now_);
        if (open.operation != none && lanes_.first[open.operation] == none) {
            lanes_.first[open.operation] = make(Kind::operation, open.operation, open.name, now_, time);
        } else if (time > now_) {
            make(Kind::slice, open.operation, open.name, now_, time);
        }
        now_ = time;
    }

    std::uint32_t make(Kind kind, std::uint32_t source, std::uint32_t name, std::int64_t start, std::int64_t end) {
        const std::uint32_t made = lanes_.drafts.add({kind, source, name, place_, start, end});
        if (!made_.empty()) {
            lanes_.drafts.depend(made, made_.back());
        }
        made_.push_back(made);
        return made;
    }

    Lanes& lanes_;
    std::uint32_t place_;
    const std::vector<Point>& points_;
    std::vector<bool>& begun_;  // operators of this thread
    std::size_t next_ = 0;
    std::vector<Open> stack_;
    std::int64_t now_ = 0;
    std::vector<std::uint32_t> made_;
};

Lanes::Lanes(const Recorded& recorded)
    : of(recorded),
      first(of.operators.size(), none),
      last(of.operators.size(), none),
      launched(of.ops.size(), none),
      wait_drafts(of.waits.size(), none) {
    const std::size_t calls = of.ops.size() + of.waits.size();
    drafts.reserve(2 * of.operators.size() + 4 * calls);
}

void Lanes::cut() {
    Points points;
    add_launches(points);
    add_waits(points);
    cut_for_orphans(points);
    cut_for_threads(points);
    const Operators& all = of.operators;
    std::map<std::int64_t, std::vector<std::uint32_t>> by_thread;
    for (std::uint32_t one = 0; one < all.size(); ++one) {
        if (all.is(one, Operators::timed)) {
            by_thread[all.tid[one]].push_back(one);
        }
    }
    for (const auto& [tid, own] : points) {
        by_thread.try_emplace(tid);
    }
    std::vector<bool> begun(all.size());
    for (auto& [tid, own] : by_thread) {
        look_up();
        std::ranges::sort(own, {}, [&](std::uint32_t one) {
            return std::tuple(all.start[one], -all.dur[one], all.id[one]);
        });
        std::vector<Point> instants = std::move(points[tid]);
        std::ranges::sort(instants, [this](const Point& a, const Point& b) { return comes_before(a, b); });
        threads.push_back({tid, ThreadCutter(*this, tid, instants, begun).run(own)});
    }
}

// An op is handed over at the call's end, or at its own start if that is earlier. A call that blocks
// hands over as it begins.
void Lanes::add_launches(Points& points) const {
    std::set<std::pair<std::int64_t, std::int64_t>> blocking;
    for (std::uint32_t one = 0; one < of.waits.size(); ++one) {
        if (!of.waits.awaited(one).empty()) {
            blocking.emplace(of.waits.tid[one], of.waits.start[one]);
        }
    }
    const DeviceOps& ops = of.ops;
    for (std::uint32_t op = 0; op < ops.size(); ++op) {
        if (!ops.is(op, DeviceOps::launched)) {
            continue;
        }
        const std::int64_t tid = ops.launch_tid[op];
        const std::int64_t begin = ops.launch_start[op];
        const std::int64_t at = blocking.contains({tid, begin}) ? begin : ops.launch_end[op];
        std::vector<Point>& own = points[tid];
        own.push_back({begin, Point::call, ops.launch_end[op], ops.parent[op], ops.launch_name[op]});
        own.push_back({std::min(at, ops.start[op]), Point::cut, ops.id[op], ops.parent[op], 0, op});
    }
}

// Calls outside operators take thread time; one with a known awaited op is parted into waiting and
// the rest.
void Lanes::add_waits(Points& points) const {
    const Waits& waits = of.waits;
    for (std::uint32_t one = 0; one < waits.size(); ++one) {
        const std::int64_t start = waits.start[one];
        if (!waits.awaited(one).empty()) {
            std::vector<Point>& own = points[waits.tid[one]];
            own.push_back({start, Point::call, waits.end(one), waits.op[one], waits.name[one]});
            own.push_back({start, Point::wait, one, waits.op[one]});
        } else if (waits.op[one] == none && waits.dur[one] != 0) {
            points[waits.tid[one]].push_back({start, Point::call, waits.end(one), none, waits.name[one]});
        }
    }
}

void Lanes::cut_for_orphans(Points& points) {
    const DeviceOps& ops = of.ops;
    for (std::uint32_t op = 0; op < ops.size(); ++op) {
        const std::uint32_t parent = ops.parent[op];
        if (parent >= missing || !of.operators.is(parent, Operators::timed)) {
            continue;
        }
        const bool has_thread = ops.is(op, DeviceOps::has_thread);
        if (!has_thread || ops.launch_tid[op] != of.operators.tid[parent]) {
            points[of.operators.tid[parent]].push_back({ops.start[op], Point::cut, new_key(), parent});
            if (!has_thread) {
                crossing_of_.back() = static_cast<std::uint32_t>(crossings.size());
                crossings.push_back({none, op, none});
            }
        }
    }
}

void Lanes::cut_for_threads(Points& points) {
    for (std::uint32_t flow = 0; flow < of.flows.size(); ++flow) {
        if (of.flows.kind[flow] == Flows::thread) {
            cut_for(of.flows.source[flow], of.flows.target[flow], points);
        }
    }
    for (std::uint32_t one = 0; one < of.operators.size(); ++one) {
        if (of.operators.parent[one] < missing) {
            cut_for(of.operators.parent[one], one, points);
        }
    }
}

void Lanes::cut_for(std::uint32_t source, std::uint32_t target, Points& points) {
    const Operators& all = of.operators;
    const bool timed = all.is(source, Operators::timed) && all.is(target, Operators::timed);
    if (timed && all.tid[source] != all.tid[target] && all.start[source] <= all.start[target]) {
        points[all.tid[source]].push_back({all.start[target], Point::cut, new_key(), source});
        crossing_of_.back() = static_cast<std::uint32_t>(crossings.size());
        crossings.push_back({none, none, target});
    }
}

std::int64_t Lanes::new_key() {
    crossing_of_.push_back(none);
    return first_key + 1 - static_cast<std::int64_t>(crossing_of_.size());
}

std::int64_t Lanes::id_of(std::uint32_t owner) const { return owner >= missing ? -1 : of.operators.id[owner]; }

bool Lanes::comes_before(const Point& a, const Point& b) const {
    if (std::tie(a.time, a.kind, a.key) != std::tie(b.time, b.kind, b.key)) {
        return std::tie(a.time, a.kind, a.key) < std::tie(b.time, b.kind, b.key);
    }
    return std::tuple(id_of(a.owner), a.name) < std::tuple(id_of(b.owner), b.name);
}

}  // namespace yantra::replay
