// What a recorded run notes of messages on the congestion-aware network: who held a link before.
#include "network/store_and_forward.hpp"

#ifdef YANTRA_RECORDED

namespace yantra {

struct StoreAndForwardNetwork::Records {
    struct OfTransit {
        u32 message = none;
        u32 offered = none;      // moment at which it came to the link it waits for
    };
    std::vector<OfTransit> transits;
    std::vector<u32> freed;      // by link: moment at which it was last free again
};

void StoreAndForwardNetwork::record_send(u32 message) {
    if (records_ == nullptr) {
        records_ = std::make_shared<Records>();
        records_->freed.assign(links_.size(), none);
        queue_.recorder().recording().by_hop = true;
        queue_.recorder().recording().first_link = routes_.first_of_dimensions();
        queue_.recorder().recording().link_class = link_classes();
    }
    if (records_->transits.size() <= message) {
        records_->transits.resize(message + 1);
    }
    records_->transits[message].message = queue_.recorder().trail.detail;
}

void StoreAndForwardNetwork::record_offer(u32 message) {
    records_->transits[message].offered = queue_.recorder().now();
}

void StoreAndForwardNetwork::record_free_link(u32 link) { records_->freed[link] = queue_.recorder().now(); }

// The bytes start to cross when both they and the link are there.
void StoreAndForwardNetwork::record_transmission(u32 link, u32 message) {
    Recorder& recorder = queue_.recorder();
    const Records::OfTransit& of = records_->transits[message];
    const bool waited = of.offered != recorder.now();
    recorder.hop(of.message, number_of(link), waited ? of.offered : records_->freed[link]);
}

}  // namespace yantra

#endif
