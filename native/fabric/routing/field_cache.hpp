// FieldCache: what is known of ways to a destination, kept by destination in bounded memory.
//
// First made, first dropped: whoever routes many flows asks for each destination about as often. What was
// dropped is made anew, so the bound costs time and changes no way.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

template <class Field>
class FieldCache {
public:
    explicit FieldCache(std::size_t destinations = 0) : of_(destinations) {}

    // The field of a destination, which may grow within the bytes that it says; made by `make(destination)` if it is not there. It is kept until the
    // next call at least.
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

    Vector<std::unique_ptr<Field>> of_;
    std::deque<u32> order_;
    std::size_t bytes_ = 0;
};

}  // namespace yantra
