#include "network/noc/traffic.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace yantra::noc {

namespace {

constexpr u64 permutation_purpose = 0x6e6f6302;

struct Asked {
    const Shape& shape;
    u32 hotspot;
    u64 seed;
};

std::vector<u32> each_node(const Shape& shape, auto&& destination) {
    std::vector<u32> found;
    for (u32 node = 0; node < shape.nodes(); ++node) {
        found.push_back(destination(node));
    }
    return found;
}

std::vector<u32> each_router(const Shape& shape, auto&& change) {
    return each_node(shape, [&](u32 node) {
        const u32 router = shape.router_of(node);
        std::vector<u32> coordinates;
        for (u32 dimension = 0; dimension < shape.dimensions().size(); ++dimension) {
            coordinates.push_back(shape.coordinate(router, dimension));
        }
        change(coordinates);
        return shape.router_at(coordinates) * shape.nodes_per_router() + node % shape.nodes_per_router();
    });
}

std::vector<u32> shifted(const Shape& shape, auto&& by) {
    return each_router(shape, [&](std::vector<u32>& coordinates) {
        for (std::size_t dimension = 0; dimension < coordinates.size(); ++dimension) {
            const u32 size = shape.dimensions()[dimension].size;
            coordinates[dimension] = (coordinates[dimension] + by(size)) % size;
        }
    });
}

// Precondition: a power of two.
u32 bits_of(const Shape& shape, const char* name) {
    if (!std::has_single_bit(shape.nodes())) {
        throw std::invalid_argument(std::string("traffic ") + name + ": a power of two of nodes is expected, not " +
                                    std::to_string(shape.nodes()));
    }
    return static_cast<u32>(std::countr_zero(shape.nodes()));
}

std::vector<u32> uniform(const Asked&) { return {}; }

std::vector<u32> transpose(const Asked& asked) {
    const std::vector<Dimension>& dimensions = asked.shape.dimensions();
    const std::size_t half = dimensions.size() / 2;
    bool is_square = dimensions.size() % 2 == 0;
    for (std::size_t at = 0; is_square && at < half; ++at) {
        is_square = dimensions[at].size == dimensions[half + at].size;
    }
    if (!is_square) {
        throw std::invalid_argument("traffic transpose: as many dimensions of the same sizes are expected on both sides, "
                                    "such as 8x8");
    }
    return each_router(asked.shape, [half](std::vector<u32>& at) {
        std::rotate(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(half), at.end());
    });
}

std::vector<u32> bit_complement(const Asked& asked) {
    return each_router(asked.shape, [&](std::vector<u32>& at) {
        for (std::size_t dimension = 0; dimension < at.size(); ++dimension) {
            at[dimension] = asked.shape.dimensions()[dimension].size - 1 - at[dimension];
        }
    });
}

std::vector<u32> bit_reverse(const Asked& asked) {
    const u32 bits = bits_of(asked.shape, "bit_reverse");
    return each_node(asked.shape, [bits](u32 node) {
        u32 reversed = 0;
        for (u32 bit = 0; bit < bits; ++bit) {
            reversed |= (node >> bit & 1U) << (bits - 1 - bit);
        }
        return reversed;
    });
}

std::vector<u32> shuffle(const Asked& asked) {
    const u32 bits = bits_of(asked.shape, "shuffle");
    const u32 last = asked.shape.nodes() - 1;
    return each_node(asked.shape, [=](u32 node) { return (node << 1U & last) | node >> (bits - 1); });
}

std::vector<u32> tornado(const Asked& asked) {
    return shifted(asked.shape, [](u32 size) { return (size + 1) / 2 - 1; });
}

std::vector<u32> neighbour(const Asked& asked) {
    return shifted(asked.shape, [](u32) { return 1u; });
}

std::vector<u32> random_permutation(const Asked& asked) {
    std::vector<u32> found(asked.shape.nodes());
    std::iota(found.begin(), found.end(), 0u);
    Rng random(asked.seed, permutation_purpose, 0);
    for (std::size_t left = found.size(); left > 1; --left) {
        std::swap(found[left - 1], found[random.below(left)]);
    }
    return found;
}

std::vector<u32> hotspot(const Asked& asked) {
    if (asked.hotspot >= asked.shape.nodes()) {
        throw std::invalid_argument("hotspot: a node from 0 to " + std::to_string(asked.shape.nodes() - 1) +
                                    " is expected, not " + std::to_string(asked.hotspot));
    }
    return std::vector<u32>(asked.shape.nodes(), asked.hotspot);
}

struct Pattern {
    TrafficKind kind;
    std::vector<u32> (*destinations)(const Asked&);
};

const std::vector<Pattern>& patterns() {
    static const std::vector<Pattern> all = {
        {{"bit_complement", "to the opposite of each coordinate"}, &bit_complement},
        {{"bit_reverse", "to the node whose number has the bits in reverse"}, &bit_reverse},
        {{"hotspot", "all to one node"}, &hotspot},
        {{"neighbour", "one further in every dimension, going round"}, &neighbour},
        {{"random_permutation", "to a node of its own, drawn once"}, &random_permutation},
        {{"shuffle", "to the node whose number has the bits moved round by one"}, &shuffle},
        {{"tornado", "just less than half of the size further in every dimension, going round"}, &tornado},
        {{"transpose", "to the node with the coordinates of the first half of the dimensions and the second swapped"},
         &transpose},
        {{"uniform", "to any node, drawn for each packet"}, &uniform},
    };
    return all;
}

}  // namespace

const std::vector<TrafficKind>& traffics() {
    static const std::vector<TrafficKind> all = [] {
        std::vector<TrafficKind> kinds;
        for (const Pattern& pattern : patterns()) {
            kinds.push_back(pattern.kind);
        }
        return kinds;
    }();
    return all;
}

Traffic::Traffic(const std::string& name, const Shape& shape, u32 hotspot, u64 seed) : nodes_(shape.nodes()) {
    std::string known;
    for (const Pattern& pattern : patterns()) {
        if (pattern.kind.name == name) {
            destinations_ = pattern.destinations({shape, hotspot, seed});
            return;
        }
        known.append(known.empty() ? "" : ", ").append(pattern.kind.name);
    }
    throw std::invalid_argument("traffic: expected one of " + known + ", not '" + name + "'");
}

}  // namespace yantra::noc
