#include "serving/records.hpp"

namespace yantra::serving {

void Records::note(const Replica& of) {
    for (u64 at = 0; at < of.count && log_.size() < most_logged_; ++at) {
        const Time begin = at == 0 ? of.begin : of.begin + of.pace.total(at);
        for (u32 lane = 0; lane < of.lanes.size(); ++lane) {
            const Batch& batch = of.lanes[lane].batch;
            if (batch.items.empty()) {
                continue;
            }
            log_.push_back({begin, of.begin + of.pace.total(at + 1), TargetId(of.first.index() + lane),
                            static_cast<u32>(items_.size()), static_cast<u32>(batch.items.size())});
            for (Item item : batch.items) {
                item.context += static_cast<u32>(at);
                items_.push_back(item);
            }
        }
    }
}

void Records::note(const Replica& of, const Replica::Flight& flight) {
    for (u32 lane = 0; lane < of.lanes.size() && log_.size() < most_logged_; ++lane) {
        const std::vector<Item>& items = flight.batches[lane].items;
        if (!items.empty()) {
            log_.push_back({flight.begin, flight.end, TargetId(of.first.index() + lane),
                            static_cast<u32>(items_.size()), static_cast<u32>(items.size())});
            items_.insert(items_.end(), items.begin(), items.end());
        }
    }
}

void Records::sample(Time now, u32 number, const Replica& of) {
    if (!has_samples_ || --until_next_ > 0) {
        return;
    }
    until_next_ = every_;
    Sample sample{now, number, 0, 0, 0, 0};
    if (!of.flights.empty()) {
        for (const Batch& batch : of.flights.back().batches) {
            sample.batch_tokens += batch.tokens;
        }
    }
    for (const Replica::Lane& lane : of.lanes) {
        const Load load = lane.engine->load();
        sample.waiting += static_cast<u32>(load.waiting);
        sample.running += static_cast<u32>(load.running);
        sample.kv_tokens += load.tokens;
        sample.batch_tokens += lane.batch.tokens;
    }
    samples_.push_back(sample);
    if (samples_.size() == most_samples) {
        for (std::size_t at = 0; 2 * at < samples_.size(); ++at) {
            samples_[at] = samples_[2 * at];
        }
        samples_.resize(most_samples / 2);
        every_ *= 2;
        until_next_ = every_;
    }
}

}  // namespace yantra::serving
