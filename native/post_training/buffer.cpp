#include "post_training/buffer.hpp"

#include <algorithm>

namespace yantra::post_training {

GroupId Buffer::submit() {
    const GroupId group(submitted());
    columns_.fate.push_back(static_cast<u8>(Fate::running));
    columns_.resolved.push_back(no_time);
    columns_.left.push_back(no_time);
    columns_.step.push_back(-1);
    unrewarded_.push_back(job_->groups.last(group).index() - job_->groups.first(group).index());
    oldest_.push_back(none);
    ++running_;
    return group;
}

void Buffer::rewarded(GroupId group) {
    if (--unrewarded_[group.index()] == 0) {
        resolving_.push_back(group);
    }
}

bool Buffer::resolve(Time now) {
    std::sort(resolving_.begin(), resolving_.end());
    for (const GroupId group : resolving_) {
        columns_.resolved[group.index()] = now;
        --running_;
        if (job_->groups.filtered[group] != 0) {
            settle(group, Fate::filtered);
            leaves(group, now);
            ++filtered_;
            continue;
        }
        settle(group, Fate::buffered);
        ++accepted_;
        oldest_[group.index()] = oldest_of(group);
        judged_at_ = none;
        if (job_->takes_submitted) {
            in_order_.insert(std::upper_bound(in_order_.begin(), in_order_.end(), group), group);
        } else {
            in_order_.push_back(group);
        }
    }
    while (first_unresolved_ < submitted() && fate(GroupId(first_unresolved_)) != Fate::running) {
        ++first_unresolved_;
    }
    const bool is_any = !resolving_.empty();
    resolving_.clear();
    return is_any;
}

u32 Buffer::oldest_of(GroupId group) const {
    u32 oldest = none;
    for (SampleId at = job_->groups.first(group); at < job_->groups.last(group); at = SampleId(at.index() + 1)) {
        oldest = std::min(oldest, pieces_->first_version(at));
    }
    return oldest;
}

bool Buffer::discard(Time now, u32 trained) {
    if (job_->max_age == none || judged_at_ == trained) {
        return false;
    }
    judged_at_ = trained;
    const auto kept = std::remove_if(in_order_.begin(), in_order_.end(), [&](GroupId group) {
        if (trained - oldest_[group.index()] <= job_->max_age) {
            return false;
        }
        settle(group, Fate::stale);
        leaves(group, now);
        return true;
    });
    const bool is_any = kept != in_order_.end();
    in_order_.erase(kept, in_order_.end());
    return is_any;
}

bool Buffer::has_batch() const {
    const u32 most = job_->groups_per_step;
    if (buffered() < most || (job_->in_rounds && running_ > 0)) {
        return false;
    }
    return !job_->takes_submitted || in_order_[most - 1].index() < first_unresolved_;
}

bool Buffer::take(Time now, u32 step, std::vector<GroupId>& batch) {
    if (!has_batch()) {
        return false;
    }
    const auto behind = in_order_.begin() + job_->groups_per_step;
    batch.assign(in_order_.begin(), behind);
    in_order_.erase(in_order_.begin(), behind);
    for (const GroupId group : batch) {
        settle(group, Fate::trained);
        columns_.step[group.index()] = step;
    }
    if (job_->in_rounds) {
        for (const GroupId group : in_order_) {
            settle(group, Fate::surplus);
            leaves(group, now);
        }
        in_order_.clear();
    }
    return true;
}

}  // namespace yantra::post_training
