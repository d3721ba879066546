#include "post_training/trainer.hpp"

namespace yantra::post_training {

void Trainer::next(Time now, Buffer& buffer) {
    if (phase_ == Phase::train) {
        ++trained_;
        columns_.end.push_back(now);
    }
    if (phase_ == Phase::wait) {
        steps_.taken.push_back(now);
    }
    phase_ = following();
    if (phase_ == Phase::wait) {
        steps_.ended.push_back(now);
        installed_ = trained_;
        in_step_ = 0;
    } else if (is_timed()) {
        const Time took = length(now, buffer);
        if (took > static_cast<Time>(longest_ticks) - now) {
            throw TooLong();
        }
        ends_ = now + took;
    }
}

Phase Trainer::following() const {
    const u32 minibatches = job_->groups_per_step / job_->groups_per_minibatch;
    switch (phase_) {
        case Phase::wait: return job_->is_partial ? Phase::cut : job_->is_colocated ? Phase::switching : Phase::logp;
        case Phase::cut: return job_->is_colocated ? Phase::switching : Phase::logp;
        case Phase::switching: return Phase::logp;
        case Phase::logp: return Phase::ref;
        case Phase::ref: return Phase::train;
        case Phase::train:
            return in_step_ < minibatches ? Phase::train : job_->stops_for_refit() ? Phase::stop : Phase::refit;
        case Phase::stop: return Phase::refit;
        case Phase::refit: return job_->is_colocated ? Phase::back : Phase::wait;
        case Phase::back: return Phase::wait;
    }
    return Phase::wait;
}

Time Trainer::length(Time now, Buffer& buffer) {
    switch (phase_) {
        case Phase::logp: return job_->logp->of(sizes_of(0, batch_.size()));
        case Phase::ref: return job_->ref->of(sizes_of(0, batch_.size()));
        case Phase::refit: return job_->refit;
        case Phase::train: {
            const std::size_t begin = std::size_t{in_step_} * job_->groups_per_minibatch;
            begin_minibatch(now, buffer);
            return job_->train->of(sizes_of(begin, begin + job_->groups_per_minibatch));
        }
        default: return job_->switching;
    }
}

void Trainer::begin_minibatch(Time now, Buffer& buffer) {
    columns_.step.push_back(steps_done());
    columns_.start.push_back(now);
    columns_.version.push_back(trained_);
    const std::size_t begin = std::size_t{in_step_} * job_->groups_per_minibatch;
    for (std::size_t at = begin; at < begin + job_->groups_per_minibatch; ++at) {
        const GroupId group = batch_[at];
        buffer.leaves(group, now);
        columns_.groups.push_back(group.index());
        for (u32 of = job_->groups.first(group).index(); of < job_->groups.last(group).index(); ++of) {
            columns_.stale.push_back(i64{trained_} - pieces_->first_version(SampleId(of)));
        }
    }
    columns_.group_begin.push_back(static_cast<i64>(columns_.groups.size()));
    columns_.stale_begin.push_back(static_cast<i64>(columns_.stale.size()));
    ++in_step_;
}

Sizes Trainer::sizes_of(std::size_t begin, std::size_t end) const {
    Sizes sizes;
    for (std::size_t at = begin; at < end; ++at) {
        const GroupId group = batch_[at];
        for (u32 of = job_->groups.first(group).index(); of < job_->groups.last(group).index(); ++of) {
            sizes.add(job_->groups.tokens(group, SampleId(of)));
        }
    }
    return sizes;
}

}  // namespace yantra::post_training
