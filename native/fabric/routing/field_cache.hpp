// FieldCache: routing data by destination, in bounded memory, first in, first out.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "base/types.hpp"

namespace yantra {

template <class Field>
class FieldCache {
public:
    explicit FieldCache(std::size_t destinations = 0) : of_(destinations) {}

    // Valid until the next call.
    template <class Make>
    Field& get(u32 destination, Make&& make) {
        std::unique_ptr<Field>& of = of_[destination];
        if (of == nullptr) {
            of = std::make_unique<Field>(make(destination));
            bytes_ += of->bytes();
            order_.push_back(destination);
            while (bytes_ > most_bytes && order_.size() > 1) {
                std::unique_ptr<Field>& oldest = of_[order_.front()];
                bytes_ -= oldest->bytes();
                oldest.reset();
                order_.pop_front();
            }
        }
        return *of;
    }

private:
    static constexpr std::size_t most_bytes = std::size_t{256} << 20U;

    std::vector<std::unique_ptr<Field>> of_;
    std::deque<u32> order_;
    std::size_t bytes_ = 0;
};

}  // namespace yantra
