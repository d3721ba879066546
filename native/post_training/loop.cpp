#include "post_training/loop.hpp"

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"
#include "base/interruption.hpp"

namespace yantra::post_training {

Loop::Loop(const Job& job)
    : job_(&job), pieces_(job.groups.output.size()), progress_(job.groups.output.size()),
      buffer_(job, pieces_), trainer_(job, pieces_), rewards_(job),
      spent_(job.replicas), places_(job.replicas) {
    const FeedKind* kind = find_feed(job.feed);
    ensure(kind != nullptr, "a feed that nobody knows");
    feed_ = kind->make(job);
    replicas_.reserve(job.replicas);
    for (u32 at = 0; at < job.replicas; ++at) {
        replicas_.emplace_back(job, progress_, pieces_);
    }
    for (GroupId group(0); group.index() < job.groups.size(); group = GroupId(group.index() + 1)) {
        for (u32 at = job.groups.first(group).index(); at < job.groups.last(group).index(); ++at) {
            progress_[SampleId(at)] = {group, 0, job.groups.prompt[group], job.groups.turn_output(SampleId(at), 0)};
        }
    }
}

bool Loop::run() {
    for (;;) {
        look_up();
        for (bool goes_on = true; goes_on;) {
            goes_on = end_runs();
            goes_on = reward() || goes_on;
            goes_on = buffer_.resolve(now_) || goes_on;
            goes_on = train() || goes_on;
            goes_on = submit() || goes_on;
        }
        if (!is_over()) {
            start_runs();
        }
        const Time next_one = is_over() ? end_of_time : next();
        if (next_one == end_of_time) {
            stop();
            return is_over();
        }
        pass(next_one - now_);
        now_ = next_one;
    }
}

// No group is submitted.
bool Loop::is_stopped() const {
    const Phase phase = trainer_.phase();
    if (job_->is_partial) {
        return phase != Phase::wait;
    }
    return job_->stops_for_refit() && (phase == Phase::stop || phase == Phase::refit);
}

// No iteration starts.
bool Loop::is_halted() const {
    return is_stopped() && (job_->is_partial || job_->refit_rule == RefitRule::pause);
}

Time Loop::next() {
    while (!ends_.empty() && ends_.top().serial != places_[ends_.top().replica].serial) {
        ends_.pop();
    }
    const Time run = ends_.empty() ? end_of_time : ends_.top().time;
    const Time back = away_.empty() ? end_of_time : away_.top().time;
    return std::min({run, back, rewards_.next(), trainer_.ends()});
}

void Loop::pass(Time span) {
    spent_.idles(cause(), span);
    if (!job_->is_colocated) {
        spent_.trains(trainer_cause(), span);
    }
}

// Of a replica that is idle.
Cause Loop::cause() const {
    const Phase phase = trainer_.phase();
    if (job_->is_colocated && trainer_.is_timed()) {
        switch (phase) {
            case Phase::logp: return Cause::logp;
            case Phase::ref: return Cause::ref;
            case Phase::train: return Cause::train;
            case Phase::refit: return Cause::refit;
            default: return Cause::switching;
        }
    }
    if (phase == Phase::refit && job_->refit_rule != RefitRule::in_flight) {
        return Cause::refit;
    }
    if (busy_ == 0 && !away_.empty()) {
        return Cause::tool;
    }
    return busy_ > 0 ? Cause::tail : rewards_.is_any_in_service() ? Cause::reward : Cause::trainer;
}

TrainerCause Loop::trainer_cause() const {
    switch (trainer_.phase()) {
        case Phase::wait: return busy_ > 0 || !away_.empty() ? TrainerCause::wait_generation : TrainerCause::wait_reward;
        case Phase::logp: return TrainerCause::logp;
        case Phase::ref: return TrainerCause::ref;
        case Phase::train: return TrainerCause::train;
        case Phase::refit: return TrainerCause::refit;
        default: return TrainerCause::wait_stop;
    }
}

bool Loop::end_runs() {
    bool is_any = false;
    met_.clear();
    while (next() == now_ && !ends_.empty() && ends_.top().time == now_) {
        const u32 replica = ends_.top().replica;
        ends_.pop();
        end_run(replica);
        is_any = true;
    }
    std::sort(met_.begin(), met_.end());
    for (const SampleId sample : met_) {
        samples_.finished[sample.index()] = now_;
        rewards_.queue(sample);
    }
    unfinished_ -= met_.size();
    return come_back() || is_any;
}

// Of those met from the first on, who have another turn.
void Loop::send_away(u32 replica, std::size_t first) {
    const Groups& groups = job_->groups;
    if (groups.turns.begin.empty()) {
        return;
    }
    std::size_t left = first;
    for (std::size_t at = first; at < met_.size(); ++at) {
        const SampleId sample = met_[at];
        if (progress_[sample].turn + 1 == groups.turns_of(sample)) {
            met_[left++] = sample;
        } else {
            const Time delay = groups.turns.delay[groups.turns.begin[sample] + progress_[sample].turn];
            away_.push({now_ + delay, sample, replica});
        }
    }
    met_.resize(left);
}

bool Loop::come_back() {
    bool is_any = false;
    for (; !away_.empty() && away_.top().time == now_; is_any = true) {
        const auto [time, sample, replica] = away_.top();
        away_.pop();
        Progress& of = progress_[sample];
        of.known += job_->groups.turns.added[job_->groups.turns.begin[sample] + of.turn];
        of.left = job_->groups.turn_output(sample, ++of.turn);
        replicas_[replica].queue(sample, of.group);
        grown_.push_back(replica);
    }
    return is_any;
}

void Loop::end_run(u32 replica) {
    Replica& of = replicas_[replica];
    const std::size_t first = met_.size();
    of.ends(met_);
    send_away(replica, first);
    ++places_[replica].serial;
    --busy_;
    spent_.generated(replica, now_ - of.begin());
    make_ready(replica);
}

bool Loop::reward() {
    met_.clear();
    const bool is_any = rewards_.turn(now_, job_->reward_overlap || unfinished_ == 0, met_);
    for (const SampleId sample : met_) {
        samples_.rewarded[sample.index()] = now_;
        buffer_.rewarded(progress_[sample].group);
    }
    return is_any;
}

bool Loop::train() {
    bool is_any = false;
    for (; !is_over(); is_any = true) {
        if (trainer_.phase() == Phase::wait) {
            is_any = buffer_.discard(now_, trainer_.trained()) || is_any;
            if (!buffer_.take(now_, trainer_.steps_done(), trainer_.batch())) {
                break;
            }
        } else if (!may_go_on()) {
            break;
        }
        trainer_.next(now_, buffer_);
        enter();
    }
    return is_any;
}

bool Loop::may_go_on() const {
    if (trainer_.is_timed()) {
        return trainer_.ends() <= now_;
    }
    const bool drains = trainer_.phase() == Phase::stop && job_->refit_rule == RefitRule::drain;
    return drains ? unfinished_ == 0 : busy_ == 0;
}

// What a new phase means for the replicas.
void Loop::enter() {
    const Phase phase = trainer_.phase();
    const bool is_step_over = phase == Phase::wait;
    const bool is_pause = phase == Phase::stop && job_->refit_rule == RefitRule::pause;
    if (is_pause || phase == Phase::cut || is_step_over) {
        for (u32 at = 0; at < job_->replicas; ++at) {
            cut(at);
        }
    }
    if (!is_step_over) {
        return;
    }
    if (job_->loses_kv) {
        for (Replica& of : replicas_) {
            of.lose_kv();
        }
    }
}

bool Loop::submit() {
    bool is_any = false;
    while (buffer_.submitted() < job_->groups.size() && !is_over() && !is_stopped()) {
        Seen seen;
        seen.submitted = buffer_.submitted();
        seen.running = buffer_.running();
        seen.accepted = buffer_.accepted();
        seen.buffered = buffer_.buffered();
        seen.filtered = buffer_.filtered();
        seen.steps_done = trainer_.steps_done();
        seen.is_unfinished = unfinished_ > 0;
        seen.trainer_waits = trainer_.phase() == Phase::wait;
        if (!feed_->allows(seen)) {
            break;
        }
        submit(buffer_.submit());
        is_any = true;
    }
    return is_any;
}

void Loop::submit(GroupId group) {
    for (u32 at = job_->groups.first(group).index(); at < job_->groups.last(group).index(); ++at) {
        const SampleId sample(at);
        samples_.submitted.push_back(now_);
        samples_.begun.push_back(no_time);
        samples_.finished.push_back(no_time);
        samples_.rewarded.push_back(no_time);
        ++unfinished_;
        if (job_->routing == Routing::shared) {
            shared_.samples.push_back(sample);
            shared_.has_grown = true;
            continue;
        }
        const u32 home = home_of(sample);
        replicas_[home].queue(sample, group);
        grown_.push_back(home);
    }
}

u32 Loop::home_of(SampleId sample) const {
    if (job_->routing == Routing::round_robin) {
        return sample.index() % job_->replicas;
    }
    const auto load = [](const Replica& of) { return of.waiting() + of.seated(); };
    const auto least = std::min_element(replicas_.begin(), replicas_.end(),
                                        [&](const Replica& a, const Replica& b) { return load(a) < load(b); });
    return static_cast<u32>(least - replicas_.begin());
}

void Loop::start_runs() {
    if (is_halted()) {
        return;
    }
    gather();
    std::sort(ready_.begin(), ready_.end());
    met_.clear();
    for (const u32 replica : ready_) {
        replicas_[replica].fill(met_);
    }
    share();
    for (const SampleId sample : met_) {
        Time& begun = samples_.begun[sample.index()];
        begun = begun == no_time ? now_ : begun;
    }
    for (const u32 replica : ready_) {
        places_[replica].is_ready = false;
        Replica& of = replicas_[replica];
        if (of.start(now_, trainer_.installed())) {
            ++busy_;
            spent_.goes_on(replica);
            ends_.push({of.end(), replica, ++places_[replica].serial});
        }
    }
    ready_.clear();
}

// Replicas that may take a sample: those between iterations do, others behind the one under way.
void Loop::gather() {
    // Where KV is short, who could not take the first may take the next.
    const bool may_change = job_->limits.kv_tokens > 0 && !shared_.samples.empty() && !ready_.empty();
    if (std::exchange(shared_.has_grown, false) || may_change) {
        for (u32 at = 0; at < job_->replicas; ++at) {
            grown_.push_back(at);
        }
    }
    for (const u32 replica : grown_) {
        if (replicas_[replica].seated() < job_->limits.seats) {
            cut(replica);
        }
        if (!replicas_[replica].is_busy()) {
            make_ready(replica);
        }
    }
    grown_.clear();
}

// One sample at a time, next the one with the fewest seats taken.
void Loop::share() {
    if (shared_.samples.empty()) {
        return;
    }
    using Open = std::pair<u32, u32>;   // seats taken, replica
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    for (const u32 replica : ready_) {
        if (replicas_[replica].waiting() == 0) {   // else nobody goes before its own
            open.push({replicas_[replica].seated(), replica});
        }
    }
    while (!shared_.samples.empty() && !open.empty()) {
        const u32 replica = open.top().second;
        open.pop();
        Replica& of = replicas_[replica];
        const SampleId sample = shared_.samples.front();
        if (of.may_sit(sample, progress_[sample].group)) {
            shared_.samples.pop_front();
            of.sit(sample, progress_[sample].group);
            met_.push_back(sample);
            open.push({of.seated(), replica});
        }
    }
}

void Loop::cut(u32 replica) {
    Replica& of = replicas_[replica];
    if (!of.is_busy()) {
        return;
    }
    const Time before = of.end();
    if (!of.cut(now_)) {
        end_run(replica);
    } else if (of.end() != before) {
        ends_.push({of.end(), replica, ++places_[replica].serial});
    }
}

void Loop::make_ready(u32 replica) {
    if (!std::exchange(places_[replica].is_ready, true)) {
        ready_.push_back(replica);
    }
}

void Loop::stop() {
    for (u32 at = 0; at < job_->replicas; ++at) {
        Replica& of = replicas_[at];
        if (of.is_busy()) {
            spent_.generated(at, now_ - of.begin());
        } else {
            spent_.goes_on(at);
        }
        of.stop(now_);
    }
}

}  // namespace yantra::post_training
