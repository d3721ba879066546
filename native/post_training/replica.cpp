#include "post_training/replica.hpp"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/ensure.hpp"

namespace yantra::post_training {

bool Replica::may_sit(SampleId sample, GroupId group) const {
    const Limits& limits = job_->limits;
    if (seated() >= limits.seats) {
        return false;
    }
    if (limits.kv_tokens == 0 || seated() == 0) {
        return true;
    }
    const bool is_shared = limits.shares_prompts && sharing_.contains(group.index());
    const u64 own = (*progress_)[sample].known - (is_shared ? job_->groups.prompt[group] : 0);
    return used_ + own + seated() + 1 <= limits.kv_tokens;
}

void Replica::sit(SampleId sample, GroupId group) {
    const Progress& of = (*progress_)[sample];
    u32 there = of.epoch == epoch_ ? of.held : 0;
    used_ += of.known;
    if (job_->limits.shares_prompts && ++sharing_[group.index()] > 1) {
        const u32 prompt = job_->groups.prompt[group];
        used_ -= prompt;
        there = std::max(there, std::min(prompt, of.known - 1));   // one is computed for a token to come
    }
    prefilling_.push_back({sample, group, of.known - there, there, of.held, seats_taken_++, 0});
}

void Replica::fill(std::vector<SampleId>& sat) {
    while (!queue_.empty() && may_sit(queue_.front().sample, queue_.front().group)) {
        sit(queue_.front().sample, queue_.front().group);
        sat.push_back(queue_.front().sample);
        queue_.pop_front();
    }
}

bool Replica::start(Time now, u32 version) {
    make_room();
    if (seated() == 0) {
        return false;
    }
    if (marks_.empty() || marks_.back().version != version) {
        marks_.push_back({clock_, version});
    }
    plan();
    u64 most = 1;
    if (batch_.only_decodes()) {
        most = decoding_.front().finish - clock_;
        if (job_->limits.kv_tokens > 0 && seated() > 1) {
            const u64 room = job_->limits.kv_tokens - used_ - seated();
            most = std::min(most, room / decoding_.size() + 1);
        }
    }
    pace_ = job_->iteration->pace(batch_, most);
    ensure(pace_.first > 0, "an iteration that takes no time");
    count_ = std::min(pace_.count, most);
    begin_ = now;
    is_busy_ = true;
    return true;
}

void Replica::plan() {
    batch_.clear();
    const auto decoding = static_cast<u32>(decoding_.size());
    if (decoding > 0) {
        batch_.add_decoding(decoding, held());
    }
    const u32 most = job_->limits.iteration_tokens;
    u32 room = most == 0 ? none : most - std::min(most, decoding);
    for (Prefill& of : prefilling_) {
        of.chunk = std::min(of.tokens, room);
        if (of.chunk == 0) {
            break;
        }
        room -= most == 0 ? 0 : of.chunk;
        const bool emits = of.chunk == of.tokens;
        batch_.add({serving::RequestId(of.sample.index()), of.chunk, of.held, false, emits});
        work_.recomputed += std::max(std::min(of.held + of.chunk, of.lost), of.held) - of.held;
    }
}

void Replica::ends(std::vector<SampleId>& finished) {
    is_busy_ = false;
    work_.tokens += decoding_.size() * count_;
    used_ += decoding_.size() * count_;
    clock_ += count_;
    work_.amounts += job_->iteration->amounts(batch_, count_);
    while (!decoding_.empty() && decoding_.front().finish == clock_) {
        const Decode of = take_decoding(0);
        finish(of, finished);
    }
    const std::size_t computed = batch_.items.size();
    std::size_t left = 0;
    for (std::size_t at = 0; at < computed; ++at) {
        Prefill of = prefilling_[at];
        of.tokens -= of.chunk;
        of.held += of.chunk;
        of.chunk = 0;
        if (of.tokens > 0) {
            prefilling_[left++] = of;   // the last of them
        } else {
            emit(of, finished);
        }
    }
    prefilling_.erase(prefilling_.begin() + static_cast<std::ptrdiff_t>(left),
                      prefilling_.begin() + static_cast<std::ptrdiff_t>(computed));
    if (std::exchange(loses_kv_, false)) {
        compute_anew();
    }
}

void Replica::emit(const Prefill& from, std::vector<SampleId>& finished) {
    const Progress& of = (*progress_)[from.sample];
    ++work_.tokens;
    ++used_;
    const Decode made{clock_ + of.left - 1, from.sample, from.group, of.known + of.left, clock_ - 1, from.order};
    if (of.left == 1) {
        finish(made, finished);
        return;
    }
    offsets_ += made.offset();
    decoding_.push_back(made);
    std::push_heap(decoding_.begin(), decoding_.end(), std::greater<>());
}

Replica::Decode Replica::take_decoding(std::size_t at) {
    const Decode of = decoding_[at];
    offsets_ -= of.offset();
    if (at == 0) {
        std::pop_heap(decoding_.begin(), decoding_.end(), std::greater<>());
        decoding_.pop_back();
    } else {
        decoding_[at] = decoding_.back();
        decoding_.pop_back();
        std::make_heap(decoding_.begin(), decoding_.end(), std::greater<>());
    }
    return of;
}

void Replica::finish(const Decode& of, std::vector<SampleId>& finished) {
    note(of);
    leave(of.group, of.known);
    Progress& progress = (*progress_)[of.sample];
    progress.known = of.known;
    progress.held = of.known - 1;
    progress.epoch = epoch_;
    finished.push_back(of.sample);
}

bool Replica::cut(Time now) {
    if (count_ > 1) {
        count_ = pace_.reaching(now - begin_, count_);
    }
    return end() > now;
}

void Replica::lose_kv() {
    if (is_busy_) {
        loses_kv_ = true;
    } else {
        compute_anew();
    }
}

void Replica::compute_anew() {
    std::vector<Prefill> all(prefilling_.begin(), prefilling_.end());
    ++epoch_;
    for (Prefill& of : all) {
        of.lost = std::max(of.lost, of.held);
    }
    for (const Decode& of : decoding_) {
        give_up(of);
        all.push_back({of.sample, of.group, 0, 0, of.known_at(clock_) - 1, of.order, 0});
    }
    decoding_.clear();
    offsets_ = 0;
    std::sort(all.begin(), all.end(), [](const Prefill& a, const Prefill& b) { return a.order < b.order; });
    std::unordered_set<u32> computed;
    for (Prefill& of : all) {
        const u32 known = (*progress_)[of.sample].known;
        const bool is_shared = job_->limits.shares_prompts && !computed.insert(of.group.index()).second;
        of.held = is_shared ? std::min(job_->groups.prompt[of.group], known - 1) : 0;
        of.tokens = known - of.held;
    }
    prefilling_.assign(all.begin(), all.end());
}

void Replica::make_room() {
    const u64 most = job_->limits.kv_tokens;
    while (most > 0 && seated() > 1 && used_ + seated() > most) {
        preempt();
    }
}

// Who came last; its tokens are computed again.
void Replica::preempt() {
    const auto last = std::max_element(decoding_.begin(), decoding_.end(),
                                       [](const Decode& a, const Decode& b) { return a.order < b.order; });
    ++work_.preempted;
    if (prefilling_.empty() || (last != decoding_.end() && last->order > prefilling_.back().order)) {
        const Decode of = take_decoding(static_cast<std::size_t>(last - decoding_.begin()));
        give_up(of);
        leave(of.group, of.known_at(clock_));
        queue_.push_front({of.sample, of.group});
        return;
    }
    const Prefill of = prefilling_.back();
    prefilling_.pop_back();
    Progress& progress = (*progress_)[of.sample];
    progress.held = std::max(of.lost, of.held);
    progress.epoch = none;
    leave(of.group, progress.known);
    queue_.push_front({of.sample, of.group});
}

// Its KV, before its turn is over.
void Replica::give_up(const Decode& of) {
    note(of);
    Progress& progress = (*progress_)[of.sample];
    progress.known = of.known_at(clock_);
    progress.left = static_cast<u32>(of.finish - clock_);
    progress.held = progress.known - 1;
    progress.epoch = none;
}

void Replica::leave(GroupId group, u32 known) {
    used_ -= known;
    if (job_->limits.shares_prompts) {
        const auto of = sharing_.find(group.index());
        if (--of->second == 0) {
            sharing_.erase(of);
        } else {
            used_ += job_->groups.prompt[group];
        }
    }
}

// What it made since it entered, by version.
void Replica::note(const Decode& of) {
    const u64 end = std::min(clock_, of.finish);
    std::size_t at = marks_.size();
    while (marks_[--at].clock > of.entered) {
    }
    for (u64 from = of.entered; from < end; ++at) {
        const u64 to = at + 1 < marks_.size() ? std::min(marks_[at + 1].clock, end) : end;
        pieces_->add(of.sample, marks_[at].version, static_cast<u32>(to - from));
        from = to;
    }
}

void Replica::stop(Time now) {
    if (std::exchange(is_busy_, false)) {
        count_ = pace_.ended(now - begin_, count_);
        ensure(count_ == 0 || batch_.only_decodes(), "an end that nobody saw");
        work_.tokens += decoding_.size() * count_;
        clock_ += count_;
        work_.amounts += job_->iteration->amounts(batch_, count_);
    }
    for (const Decode& of : decoding_) {
        note(of);
    }
}

}  // namespace yantra::post_training
