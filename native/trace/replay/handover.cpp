#include "trace/replay/handover.hpp"

#include <algorithm>

#include "base/interruption.hpp"

namespace yantra::replay {

namespace {

constexpr std::int64_t much_longer = 10;
constexpr double resumed_within = 0.2;  // of the idle time

}  // namespace

void Handover::run() {
    const std::size_t threads = lanes_.threads.size();
    if (threads < 2) {
        return;
    }
    work_.resize(threads);
    halves_.resize(drafts_.size());
    tails_.resize(drafts_.size(), none);
    read_flows();
    for (std::size_t thread = 0; thread < threads; ++thread) {
        work_[thread].long_ns = much_longer * usual(thread);
    }
    index();
    for (std::size_t thread = 0; thread < threads; ++thread) {
        look_up();
        split(thread);
    }
    index();
    for (std::size_t thread = 0; thread < threads; ++thread) {
        look_up();
        each_gap(thread, [&](std::int64_t start, std::int64_t end, std::uint32_t draft) {
            resume(draft, cause(thread, start, end));
        });
    }
}

void Handover::read_flows() {
    const Operators& operators = lanes_.of.operators;
    const auto thread_of = [&](std::uint32_t operation) {
        const auto found = std::ranges::lower_bound(lanes_.threads, operators.tid[operation], {}, &Thread::tid);
        const bool is_known = found != lanes_.threads.end() && found->tid == operators.tid[operation];
        return is_known ? static_cast<std::size_t>(found - lanes_.threads.begin()) : lanes_.threads.size();
    };
    const Flows& flows = lanes_.of.flows;
    for (std::uint32_t flow = 0; flow < flows.size(); ++flow) {
        const std::size_t giver = thread_of(flows.source[flow]);
        const std::size_t taker = thread_of(flows.target[flow]);
        const std::uint32_t last = lanes_.last[flows.target[flow]];
        if (giver == taker || giver == work_.size() || last == none) {
            continue;
        }
        if (flows.kind[flow] == Flows::backward) {
            work_[giver].autograd.insert(taker);
        } else if (flows.kind[flow] == Flows::thread) {
            work_[giver].jobs.emplace_back(drafts_[last].end, last);
        }
    }
    for (Work& one : work_) {
        std::ranges::sort(one.jobs);
    }
}

void Handover::index() {
    for (std::size_t thread = 0; thread < work_.size(); ++thread) {
        Work& work = work_[thread];
        work.drafts.clear();
        work.starts.clear();
        work.ends.clear();
        for (const std::uint32_t draft : lanes_.threads[thread].drafts) {
            if (!may_be_idle(draft)) {
                work.drafts.push_back(draft);
                work.starts.push_back(drafts_[draft].start);
                work.ends.push_back(drafts_[draft].end);
            }
        }
    }
}

bool Handover::may_be_idle(std::uint32_t at) const {
    const Draft& draft = drafts_[at];
    return draft.end > draft.start && (draft.kind == Kind::operation || draft.kind == Kind::slice) &&
           draft.source != none && !halves_[at] && lanes_.of.operators.is(draft.source, Operators::annotation);
}

template <class Visit>
void Handover::each_gap(std::size_t thread, Visit visit) const {
    std::int64_t idle_since = -1;
    for (const std::uint32_t draft : lanes_.threads[thread].drafts) {
        if (drafts_[draft].start > idle_since) {
            visit(idle_since, drafts_[draft].start, draft);
        }
        idle_since = drafts_[draft].end;
    }
}

std::int64_t Handover::usual(std::size_t thread) const {
    std::vector<std::int64_t> lengths;
    each_gap(thread, [&](std::int64_t start, std::int64_t end, std::uint32_t) {
        if (start >= 0) {
            lengths.push_back(end - start);
        }
    });
    for (const std::uint32_t draft : lanes_.threads[thread].drafts) {
        if (may_be_idle(draft)) {
            lengths.push_back(drafts_[draft].end - drafts_[draft].start);
        }
    }
    if (lengths.empty()) {
        return 0;
    }
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::ranges::nth_element(lengths, middle);
    return *middle;
}

Handover::MaybeCause Handover::cause(std::size_t thread, std::int64_t start, std::int64_t end) const {
    const Work& own = work_[thread];
    MaybeCause found;
    for (std::size_t other = 0; other < work_.size(); ++other) {
        if (other != thread) {
            const Work& work = work_[other];
            found = later(found, own.autograd.contains(other) ? last_work(work, start, end) : burst(work, start, end));
        }
    }
    return later(found, job(own, start, end));
}

Handover::MaybeCause Handover::later(const MaybeCause& one, const MaybeCause& other) const {
    if (!one || !other) {
        return one ? one : other;
    }
    return drafts_[other->last].end > drafts_[one->last].end ? other : one;
}

Handover::MaybeCause Handover::burst(const Work& work, std::int64_t start, std::int64_t end) {
    const auto first = std::ranges::lower_bound(work.starts, start) - work.starts.begin();
    const auto past = std::ranges::upper_bound(work.ends, end) - work.ends.begin();
    const auto size = static_cast<std::ptrdiff_t>(work.starts.size());
    const auto at = [](std::ptrdiff_t place) { return static_cast<std::size_t>(place); };
    const bool is_empty = past - 1 < first || first == size;
    if (is_empty || (first != 0 && work.ends[at(first - 1)] > start) || (past < size && work.starts[at(past)] < end)) {
        return {};
    }
    return Cause{work.starts[at(first)], work.drafts[at(past - 1)]};
}

Handover::MaybeCause Handover::last_work(const Work& work, std::int64_t start, std::int64_t end) {
    const auto past = static_cast<std::size_t>(std::ranges::upper_bound(work.ends, end) - work.ends.begin());
    if (past == 0 || work.ends[past - 1] <= start) {
        return {};
    }
    const auto first = static_cast<std::size_t>(std::ranges::upper_bound(work.ends, start) - work.ends.begin());
    return Cause{std::max(start, work.starts[first]), work.drafts[past - 1]};
}

Handover::MaybeCause Handover::job(const Work& work, std::int64_t start, std::int64_t end) {
    if (work.jobs.empty() || start < 0 || end - start < work.long_ns) {
        return {};
    }
    const auto past = std::ranges::upper_bound(work.jobs, end, {}, &std::pair<std::int64_t, std::uint32_t>::first);
    if (past == work.jobs.begin() || (past - 1)->first <= start) {
        return {};
    }
    const auto& [ended, last] = *(past - 1);
    if (static_cast<double>(end - ended) > resumed_within * static_cast<double>(end - start)) {
        return {};
    }
    return Cause{start, last};
}

void Handover::split(std::size_t thread) {
    std::vector<std::uint32_t>& drafts = lanes_.threads[thread].drafts;
    std::vector<std::uint32_t> whole;
    whole.reserve(drafts.size());
    for (const std::uint32_t at : drafts) {
        whole.push_back(at);
        if (!may_be_idle(at)) {
            continue;
        }
        const MaybeCause found = cause(thread, drafts_[at].start, drafts_[at].end);
        if (!found) {
            continue;
        }
        Draft half = drafts_[at];
        half.kind = Kind::slice;
        half.start = drafts_[found->last].end;
        half.ctrl = half.head = half.tail = none;
        drafts_[at].end = std::max(drafts_[at].start, found->begin);
        const std::uint32_t tail = drafts_.add(half);
        drafts_.depend(tail, at);
        halves_.resize(drafts_.size());
        halves_[at] = halves_[tail] = true;
        tails_[at] = tail;
        whole.push_back(tail);
        resume(tail, found);
    }
    for (std::size_t place = 1; place < whole.size(); ++place) {
        drafts_.follow(whole[place], whole[place - 1]);
    }
    drafts = std::move(whole);
}

void Handover::resume(std::uint32_t draft, const MaybeCause& cause) {
    if (cause && !drafts_.depends(draft, cause->last)) {
        drafts_.depend(draft, cause->last);
        ++edges_;
    }
}

}  // namespace yantra::replay
