#include "network/packet/steering.hpp"

#include <algorithm>

namespace yantra::packet {

void Steering::by(Chooser& chooser) {
    chooser_ = &chooser;
    number_.assign(ports_.devices(), none);
    for (u32 device = 0; device < ports_.devices(); ++device) {
        if (ports_.leaving(device).size() > 1) {
            number_[device] = numbers_++;
        }
    }
}

u32 Steering::target(u32 from, u32 to) {
    const auto [at, is_new] =
        target_of_.try_emplace({chooser_->region(from, to), to}, static_cast<u32>(targets_.size()));
    if (is_new) {
        targets_.push_back({from, to, {}});
    }
    return at->second;
}

const std::vector<u32>& Steering::links_of(Target& target, u32 device) {
    target.lists.resize(numbers_, none);
    u32& list = target.lists[number_[device]];
    if (list == none) {
        chooser_->next(target.from, target.to, device, links_);
        const auto [at, is_new] = list_of_.try_emplace(links_, static_cast<u32>(lists_.size()));
        if (is_new) {
            lists_.push_back(links_);
        }
        list = at->second;
    }
    return lists_[list];
}

bool Steering::steer(Packet& packet) {
    Target& target = targets_[packet.route];
    const u32 device = ports_[packet.link].to;
    packet.ahead.fill(not_read);
    if (device == target.to) {
        packet.ahead[0] = LinkId::none;
        return true;
    }
    if (number_[device] == none) {
        return false;   // it went there before links changed
    }
    const std::vector<u32>* links = &links_of(target, device);
    const auto is_down = [this](u32 link) { return ports_[LinkId(link)].is_down; };
    if (std::any_of(links->begin(), links->end(), is_down)) {
        links_ = *links;
        std::erase_if(links_, is_down);
        links = &links_;
    }
    if (links->empty()) {
        return false;
    }
    u32 at = 0;
    if (links->size() > 1) {
        const u32 number = static_cast<u32>(packet.sequence / senders_.settings.payload_bytes);
        at = chooser_->choose({packet.link.index(), target.to, senders_.now(), number}, device, *links, *this);
    }
    packet.ahead[0] = LinkId((*links)[at]);
    return true;
}

}  // namespace yantra::packet
