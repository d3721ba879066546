#include "fabric/graph.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace yantra {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("fabric graph: " + what); }

const char* word_for(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::rank: return "rank ";
        case DeviceKind::switched: return "switch ";
        case DeviceKind::nic: return "NIC ";
        case DeviceKind::host: return "host ";
        case DeviceKind::memory: return "memory ";
    }
    return "device ";
}

std::vector<u32> begins(const std::vector<u32>& device_of, u32 devices) {
    std::vector<u32> begin(devices + std::size_t{1});
    for (u32 device : device_of) {
        ++begin[device + std::size_t{1}];
    }
    for (u32 device = 0; device < devices; ++device) {
        begin[device + 1] += begin[device];
    }
    return begin;
}

std::vector<u32> by_device(const std::vector<u32>& device_of, std::vector<u32> next) {
    std::vector<u32> sorted(device_of.size());
    for (u32 link = 0; link < device_of.size(); ++link) {
        sorted[next[device_of[link]]++] = link;
    }
    return sorted;
}

}  // namespace

FabricGraph::FabricGraph(FabricColumns columns) : columns_(std::move(columns)) {
    check();
    index();
    find_boxes();
    has_one_weight_ = std::adjacent_find(columns_.weight.begin(), columns_.weight.end(),
                                         std::not_equal_to<>()) == columns_.weight.end();
}

u32 FabricGraph::label_links(u32 label) const {
    return static_cast<u32>(std::count(columns_.label.begin(), columns_.label.end(), label));
}

double FabricGraph::label_bytes_per_ns(u32 label) const {
    double sum = 0.0;
    for (u32 link = 0; link < links(); ++link) {
        sum += columns_.label[link] == label ? bytes_per_ns(link) : 0.0;
    }
    return sum;
}

FabricGraph FabricGraph::without(const std::vector<bool>& links) const {
    FabricColumns left = columns_;
    const auto keep = [&](auto& column) {
        std::size_t kept = 0;
        for (std::size_t link = 0; link < links.size(); ++link) {
            if (!links[link]) {
                column[kept++] = column[link];
            }
        }
        column.resize(kept);
    };
    keep(left.from);
    keep(left.to);
    keep(left.bytes_per_ns);
    keep(left.latency_ns);
    keep(left.buffer_bytes);
    keep(left.label);
    keep(left.weight);
    left.box.clear();
    for (u32 device = 0; has_boxes() && device < devices(); ++device) {
        left.box.push_back(box(device) == none ? -1 : static_cast<i32>(box(device)));
    }
    return FabricGraph(std::move(left));
}

void FabricGraph::check() const {
    const std::size_t links = columns_.from.size();
    if (columns_.kinds.size() >= none || links >= none) {
        refuse("more devices or links than 32 bits count");
    }
    if (columns_.ranks == 0 || columns_.ranks > columns_.kinds.size()) {
        refuse(std::to_string(columns_.ranks) + " ranks among " + std::to_string(columns_.kinds.size()) +
               " devices; expected one rank or more, and a kind for every device");
    }
    for (u32 device = 0; device < devices(); ++device) {
        const u8 kind = columns_.kinds[device];
        if (kind > static_cast<u8>(DeviceKind::memory) || (kind == 0) != (device < columns_.ranks)) {
            refuse("device " + std::to_string(device) + " is of kind " + std::to_string(kind) +
                   "; expected 0 for the first " + std::to_string(columns_.ranks) + ", 1 to 4 behind them");
        }
    }
    const std::size_t sizes[] = {columns_.to.size(),           columns_.bytes_per_ns.size(),
                                 columns_.latency_ns.size(),   columns_.buffer_bytes.size(),
                                 columns_.label.size(),        columns_.weight.size()};
    for (std::size_t size : sizes) {
        if (size != links) {
            refuse("a column of " + std::to_string(size) + " links beside one of " + std::to_string(links));
        }
    }
    const std::size_t boxes = columns_.box.size();
    if (boxes != 0 && boxes != devices() && boxes != columns_.ranks) {
        refuse(std::to_string(boxes) + " boxes; expected one for every device or every rank");
    }
    if (columns_.coordinates.size() != std::size_t{columns_.dimensions} * devices()) {
        refuse("coordinates of another number than devices");
    }
    for (u32 link = 0; link < links; ++link) {
        check_link(link);
    }
}

void FabricGraph::check_link(u32 link) const {
    const auto wrong = [link](const std::string& what) {
        refuse("link " + std::to_string(link) + ": " + what);
    };
    if (from(link) >= devices() || to(link) >= devices()) {
        wrong("from device " + std::to_string(from(link)) + " to " + std::to_string(to(link)) +
              "; there are " + std::to_string(devices()));
    }
    if (from(link) == to(link)) {
        wrong("joins " + name(from(link)) + " to itself");
    }
    if (!(bytes_per_ns(link) > 0.0)) {   // infinite means no limit
        wrong("a bandwidth of " + std::to_string(bytes_per_ns(link)) + " GB/s; expected more than 0");
    }
    if (!(latency_ns(link) >= 0.0) || !std::isfinite(latency_ns(link))) {
        wrong("a latency of " + std::to_string(latency_ns(link)) + " ns; expected 0 or more");
    }
    if (!(weight(link) > 0.0) || !std::isfinite(weight(link))) {
        wrong("a routing weight of " + std::to_string(weight(link)) + "; expected more than 0");
    }
    if (label(link) >= columns_.labels.size()) {
        wrong("label " + std::to_string(label(link)) + " of " + std::to_string(columns_.labels.size()));
    }
}

void FabricGraph::index() {
    out_begin_ = begins(columns_.from, devices());
    in_begin_ = begins(columns_.to, devices());
    out_ = by_device(columns_.from, out_begin_);
    in_ = by_device(columns_.to, in_begin_);
}

// A switch that also leads elsewhere is undecidable.
void FabricGraph::find_boxes() {
    if (columns_.box.empty()) {
        return;
    }
    box_.assign(devices(), none);
    for (u32 device = 0; device < columns_.box.size(); ++device) {
        box_[device] = columns_.box[device] < 0 ? none : static_cast<u32>(columns_.box[device]);
    }
    if (columns_.box.size() == devices()) {
        return;
    }
    for (u32 device = ranks(); device < devices(); ++device) {
        u32 found = none;
        bool is_shared = false;
        bool leads_on = false;
        for (const std::span<const u32> links : {out(device), in(device)}) {
            for (u32 link : links) {
                const u32 other = from(link) == device ? to(link) : from(link);
                leads_on |= other >= ranks();
                if (other < ranks()) {
                    is_shared |= box_[other] == none || (found != none && box_[other] != found);
                    found = box_[other];
                }
            }
        }
        if (found == none || is_shared) {
            continue;
        }
        if (leads_on && kind(device) != DeviceKind::nic) {
            refuse(name(device) + " joins ranks of box " + std::to_string(found) +
                   " only, and leads elsewhere, too: whether it is in the box is not known; give a box for "
                   "every device, not for every rank");
        }
        box_[device] = found;
    }
}

std::string FabricGraph::name(u32 device) const {
    if (device < columns_.names.size()) {
        return columns_.names[device];
    }
    u32 at = device;
    for (const auto& [name, size] : columns_.tiers) {
        if (at < size) {
            return name + " " + std::to_string(at);
        }
        at -= size;
    }
    return word_for(kind(device)) + std::to_string(device);
}

std::string FabricGraph::link_name(u32 link) const {
    return "link " + std::to_string(link) + " (" + name(from(link)) + " to " + name(to(link)) + ")";
}

}  // namespace yantra
